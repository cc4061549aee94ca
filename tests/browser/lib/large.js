// A large run, made of a small one: every server and every workload several times over, each copy a little slower.

const LANGUAGES = ["C", "Go", "Java", "JavaScript", "Python", "Rust"];

/** The exported run `record` with `servers` servers besides the reference server and with `workloads` workloads. */
export function enlarged(record, servers, workloads) {
  const { run, trials, ...rest } = structuredClone(record);
  const reference = run.servers.find((server) => server.class === "reference");
  const others = run.servers.filter(
    (server) => server !== reference && server.status.status === "ready",
  );
  const names = [
    ...new Set(
      trials
        .filter((trial) => trial.trial.server === others[0].id)
        .map((trial) => trial.trial.workload),
    ),
  ];
  const copies = Array.from({ length: servers }, (_, n) => ({
    of: others[n % others.length],
    id: `server-${String(n + 1).padStart(2, "0")}`,
    language: LANGUAGES[n % LANGUAGES.length],
    slower: 1 + 0.04 * Math.floor(n / others.length),
  }));
  const tasks = Array.from({ length: workloads }, (_, n) => ({
    of: names[n % names.length],
    id: `workload-${String(n + 1).padStart(2, "0")}`,
  }));
  const serves = tasks.map((task) => task.id);
  const verified = serves.map((workload) => ({ workload, verdict: "right" }));
  const every = [
    ...(reference
      ? [
          {
            of: reference,
            id: reference.id,
            language: reference.language,
            slower: 1,
          },
        ]
      : []),
    ...copies,
  ];
  const repeated = [];
  for (const task of tasks) {
    for (const copy of every) {
      for (const trial of trials) {
        if (
          trial.trial.workload === task.of &&
          trial.trial.server === copy.of.id
        ) {
          repeated.push(copied(trial, task, copy, repeated.length));
        }
      }
    }
  }
  return {
    ...rest,
    run: {
      ...run,
      id: `${run.id}-large`,
      servers: every.map((copy) => ({
        ...copy.of,
        id: copy.id,
        language: copy.language,
        serves,
        verified,
      })),
    },
    trials: repeated,
  };
}

function copied(record, task, copy, sequence) {
  const trial = structuredClone(record);
  Object.assign(trial.trial, { server: copy.id, workload: task.id, sequence });
  const outcomes = trial.result.outcomes ?? trial.result;
  if (typeof outcomes.ok === "number") {
    outcomes.ok = Math.round(outcomes.ok / copy.slower);
  }
  return trial;
}
