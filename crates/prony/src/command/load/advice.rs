//! What helps if every request of a load failed for a reason that Prony can find.

use prony_load::{LoadPlan, Scheme};
use prony_model::{Ended, LoadResult, Outcome};
use prony_suite::run::other_scheme;

use crate::tls::{Offered, SPEAKS_TLS};

/// What helps, if every request failed for a reason that Prony can find. It asks the server if it speaks TLS.
pub fn advice(plan: &LoadPlan, result: &LoadResult, offered: Offered) -> Option<&'static str> {
    if result.ended == Ended::Interrupted || result.outcomes[Outcome::Ok] > 0 {
        return None;
    }
    match plan.tls {
        Some(_) => of_certificate(result, offered),
        None => of_scheme(plan, result),
    }
}

/// With TLS 1.3 the server refuses a client without a certificate when the handshake is over, so during the load.
fn of_certificate(result: &LoadResult, offered: Offered) -> Option<&'static str> {
    let first = result.first_wrong.as_ref()?;
    offered.certificate_advice_on(&first.detail)
}

/// Over plain HTTP, a server that speaks TLS closes the connection, sends an alert, or responds with 400.
fn of_scheme(plan: &LoadPlan, result: &LoadResult) -> Option<&'static str> {
    let are_bad_requests = result.statuses.keys().eq([&400]);
    let broke = [Outcome::Malformed, Outcome::Reset, Outcome::Truncated];
    let did_break = broke
        .into_iter()
        .any(|outcome| result.outcomes[outcome] > 0);
    if !are_bad_requests && !did_break {
        return None;
    }
    let speaks = other_scheme(&plan.endpoint, Scheme::Http, plan.timeout);
    speaks.map(|_| SPEAKS_TLS)
}
