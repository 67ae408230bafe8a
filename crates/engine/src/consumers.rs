//! What all workers that take their work from a broker have in common.
//!
//! A broker hands a message to whichever worker comes first. So only what **every** live one can run is announced: the routes and
//! queues that all of them serve. What only some can run stays with claims by order, and a worker that can run more than the
//! others ([`CommonWork::rest_of`]) looks for that itself.
//!
//! Relays and workers read the same sessions, each at its own moment. While a worker joins or leaves they may differ for
//! about a second: a job that was announced and that this worker cannot run is refused by its claim, and announced again; one
//! that nobody announces yet is claimed by order.

use foreman_core::ports::{Consumer, Queues};
use foreman_core::target::Route;

/// What every consumer can run, and how much all of them can run at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonWork {
    pub slots: usize,
    pub queues: Queues,
    pub routes: Vec<Route>,
}

/// What a worker can run beyond that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsharedWork {
    Nothing,
    /// These routes, in all of its queues.
    Routes(Vec<Route>),
    /// Some of its queues are not announced, whatever the route.
    Queues,
}

impl CommonWork {
    /// `None`: there is no consumer, or nothing that all of them can run.
    pub fn of(consumers: &[Consumer]) -> Option<Self> {
        let (first, others) = consumers.split_first()?;
        let (mut queues, mut routes) = (first.queues.clone(), first.routes.clone());
        for other in others {
            queues = both(queues, &other.queues);
            routes.retain(|route| other.routes.contains(route));
        }
        let is_nothing = routes.is_empty() || matches!(&queues, Queues::Named(names) if names.is_empty());
        let slots = consumers.iter().map(|consumer| consumer.slots as usize).sum();
        (!is_nothing).then_some(Self { slots, queues, routes })
    }

    /// What is left to a worker with these queues and routes, when this much is announced.
    pub fn rest_of(common: Option<&Self>, queues: &Queues, routes: &[Route]) -> UnsharedWork {
        let Some(common) = common else { return UnsharedWork::Queues };
        let are_announced = match (&common.queues, queues) {
            (Queues::All, _) => true,
            (Queues::Named(_), Queues::All) => false,
            (Queues::Named(announced), Queues::Named(own)) => own.iter().all(|queue| announced.contains(queue)),
        };
        if !are_announced {
            return UnsharedWork::Queues;
        }
        let rest: Vec<Route> = routes.iter().filter(|route| !common.routes.contains(route)).cloned().collect();
        if rest.is_empty() { UnsharedWork::Nothing } else { UnsharedWork::Routes(rest) }
    }
}

fn both(one: Queues, other: &Queues) -> Queues {
    match (one, other) {
        (one, Queues::All) => one,
        (Queues::All, other) => other.clone(),
        (Queues::Named(mut names), Queues::Named(others)) => {
            names.retain(|name| others.contains(name));
            Queues::Named(names)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Queues {
        Queues::Named(names.iter().map(|name| foreman_core::job::QueueName::from_stored(name)).collect())
    }

    fn consumer(queues: &Queues, routes: &[Route]) -> Consumer {
        Consumer { slots: 8, queues: queues.clone(), routes: routes.to_vec() }
    }

    #[test]
    fn only_what_every_worker_can_run_is_announced() {
        let (http, command) = (Route::http(), Route::command());
        assert_eq!(CommonWork::of(&[]), None, "nobody would take it");
        let all = consumer(&Queues::All, &[http.clone(), command.clone()]);
        let plain = consumer(&Queues::All, std::slice::from_ref(&http));
        let common = CommonWork::of(&[all.clone(), plain.clone()]).expect("both run HTTP");
        assert_eq!(common, CommonWork { slots: 16, queues: Queues::All, routes: vec![http.clone()] });
        let mail = consumer(&named(&["mail", "video"]), std::slice::from_ref(&http));
        let few = consumer(&named(&["mail", "rare"]), std::slice::from_ref(&http));
        assert_eq!(CommonWork::of(&[plain, mail.clone(), few]).expect("the queue mail").queues, named(&["mail"]));
        assert_eq!(CommonWork::of(&[mail, consumer(&named(&["rare"]), &[http])]), None, "no queue in common");
        assert_eq!(CommonWork::of(&[all, consumer(&Queues::All, &[])]), None, "no route in common");
    }

    #[test]
    fn a_worker_looks_itself_for_what_only_some_can_run() {
        let (http, command) = (Route::http(), Route::command());
        let routes = [http.clone(), command.clone()];
        let common = |queues| Some(CommonWork { slots: 1, queues, routes: vec![http.clone()] });
        let rest = |common: &Option<CommonWork>, queues: &Queues, routes: &[Route]| {
            CommonWork::rest_of(common.as_ref(), queues, routes)
        };
        let every = common(Queues::All);
        assert_eq!(rest(&every, &Queues::All, std::slice::from_ref(&http)), UnsharedWork::Nothing);
        assert_eq!(rest(&every, &named(&["mail"]), &routes), UnsharedWork::Routes(vec![command]));
        let mail = common(named(&["mail"]));
        assert_eq!(rest(&mail, &named(&["mail"]), std::slice::from_ref(&http)), UnsharedWork::Nothing);
        assert_eq!(rest(&mail, &named(&["mail", "rare"]), std::slice::from_ref(&http)), UnsharedWork::Queues);
        assert_eq!(rest(&mail, &Queues::All, std::slice::from_ref(&http)), UnsharedWork::Queues);
        assert_eq!(rest(&None, &Queues::All, &routes), UnsharedWork::Queues, "nothing is announced at all");
    }
}
