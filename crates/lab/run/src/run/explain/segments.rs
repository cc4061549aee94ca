//! Bytes and TCP segments of a response.

use prony_load::segments_of;
use prony_model::{CostFigure, CostUnit};

use super::super::bench::Task;
use super::super::process::Process;
use super::super::verify::{RESPONSE_TIMEOUT, settle_quiet};

/// How many requests show them, one after another.
const REQUESTS: u64 = 100;

/// Requests a task over a connection of its own, without load; the log of the server is complete afterwards. Nothing for a
/// scenario, whose requests differ.
pub(super) fn segments(
    task: &Task,
    server: &mut Process,
    unit: CostUnit,
) -> Result<Vec<(CostFigure, f64)>, String> {
    let Some(request) = task.traffic.request() else {
        return Ok(Vec::new());
    };
    let target = server.target(task).map_err(|error| error.to_string())?;
    let (_, traffic) = request.encode(&target.authority)?;
    let (endpoint, client) = (target.address.into(), target.client.as_ref());
    let counted = segments_of(&endpoint, &traffic, client, REQUESTS, RESPONSE_TIMEOUT);
    if task.workload.log_lines() > 0 {
        settle_quiet(server);
    }
    let counted = counted.map_err(|error| error.to_string())?;
    let units = match unit {
        CostUnit::Request => counted.responses,
        CostUnit::Event => counted.events,
    };
    if units == 0 {
        return Ok(Vec::new());
    }
    let per_unit = |count: u64| count as f64 / units as f64;
    Ok(vec![
        (CostFigure::Bytes, per_unit(counted.bytes)),
        (CostFigure::Segments, per_unit(counted.segments)),
    ])
}
