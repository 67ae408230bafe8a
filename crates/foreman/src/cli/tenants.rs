//! Arguments of `foreman tenants`.

use std::num::NonZeroUsize;
use std::str::FromStr;

use clap::{ArgGroup, Args, Subcommand};
use foreman_client::{Limit, LimitOverrides, Programs, Span, Variables, Weight};
use serde_json::{Map, Value, json};

use super::DirectFlags;

#[derive(Debug, Args)]
pub struct Tenants {
    #[command(subcommand)]
    pub command: TenantsCommand,
    #[command(flatten)]
    pub direct: DirectFlags,
}

#[derive(Debug, Subcommand)]
pub enum TenantsCommand {
    /// Create a tenant; create its first key with `foreman keys create`
    Create(CreateTenant),
    /// List tenants by name
    List(ListTenants),
    /// Show a tenant and its effective limits
    Show {
        /// Tenant id
        id: String,
    },
    /// Change the given fields of a tenant
    Update(UpdateTenant),
    /// Delete tenants with their keys; each must be disabled and have no jobs and no schedules
    Delete(DeleteTenants),
    /// Create or replace the secret that signs a tenant's HTTP requests; it is shown only once
    RotateSecret(RotateTenantSecret),
    /// Delete the signing secret of a tenant; its HTTP requests are no longer signed
    DeleteSecret {
        /// Tenant id
        id: String,
    },
}

/// Fields of a tenant.
#[derive(Clone, Debug, Default, Args)]
pub struct TenantFlags {
    /// Limit, as NAME=NUMBER, NAME=unlimited or NAME=default; may be given several times
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    pub limits: Vec<LimitFlag>,
    /// Programs that the tenant's jobs may run, separated by commas: absolute paths, `sh` for shell commands, `*` for all, "" for none
    #[arg(long, value_name = "PROGRAMS")]
    pub commands: Option<Programs>,
    /// Environment variables that jobs may set for these programs, separated by commas: names, prefixes such as `REPORT_*`, "" for
    /// none. With `sh` or `*` in --commands, jobs may set all
    #[arg(long, value_name = "NAMES")]
    pub variables: Option<Variables>,
    /// Share of a queue that several tenants use, from 1 to 1000: twice the weight gets twice the jobs
    #[arg(long, value_name = "N", value_parser = weight)]
    pub weight: Option<Weight>,
}

fn weight(text: &str) -> Result<Weight, String> {
    let number: u32 = text.parse().map_err(|_| format!("a weight is a number from 1 to 1000, not {text:?}"))?;
    Weight::try_from(number).map_err(|error| error.to_string())
}

/// `queued_jobs=1000`; no value: the default of all tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitFlag {
    name: String,
    value: Option<Limit>,
}

impl FromStr for LimitFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| "no value given; write it like queued_jobs=1000".to_owned())?;
        // The list of limits is known in one place, and that one judges names.
        serde_json::from_value::<LimitOverrides>(json!({ name: 1 })).map_err(|error| error.to_string())?;
        let value = match value {
            "default" => None,
            other => Some(other.parse().map_err(|_| {
                format!(
                    "not a limit: {other:?}; write a whole number, `unlimited`, or `default` for the server's default"
                )
            })?),
        };
        Ok(Self { name: name.to_owned(), value })
    }
}

impl TenantFlags {
    /// As a JSON merge patch.
    pub fn patch(&self) -> Map<String, Value> {
        let mut patch = Map::new();
        if !self.limits.is_empty() {
            let limits: Map<String, Value> =
                self.limits.iter().map(|limit| (limit.name.clone(), json!(limit.value))).collect();
            patch.insert("limits".into(), limits.into());
        }
        if let Some(commands) = &self.commands {
            patch.insert("commands".into(), json!(commands));
        }
        if let Some(variables) = &self.variables {
            patch.insert("variables".into(), json!(variables));
        }
        if let Some(weight) = self.weight {
            patch.insert("weight".into(), json!(weight));
        }
        patch
    }
}

#[derive(Debug, Args)]
pub struct CreateTenant {
    /// Id of the new tenant: letters from a to z, digits and hyphens
    pub id: String,
    /// Create the tenant disabled: it cannot submit or run jobs yet
    #[arg(long)]
    pub disabled: bool,
    #[command(flatten)]
    pub flags: TenantFlags,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["disable", "enable", "limits", "commands", "variables", "weight"])))]
pub struct UpdateTenant {
    /// Tenant id
    pub id: String,
    /// Disable the tenant: reject its keys, stop its running attempts, and run no jobs, schedules or webhooks; waiting jobs are kept
    #[arg(long, conflicts_with = "enable")]
    pub disable: bool,
    /// Enable the tenant; its waiting jobs run again
    #[arg(long)]
    pub enable: bool,
    #[command(flatten)]
    pub flags: TenantFlags,
    /// Change the tenant only if it has this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

impl UpdateTenant {
    /// As a JSON merge patch.
    pub fn patch(&self) -> Map<String, Value> {
        let mut patch = self.flags.patch();
        if self.disable || self.enable {
            patch.insert("disabled".into(), self.disable.into());
        }
        patch
    }
}

#[derive(Debug, Args)]
pub struct ListTenants {
    /// Show at most this many tenants
    #[arg(long, default_value = "50", value_name = "N", conflicts_with = "all")]
    pub limit: NonZeroUsize,
    /// Show all tenants
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Args)]
pub struct DeleteTenants {
    /// Tenant ids
    #[arg(required = true, value_name = "ID")]
    pub ids: Vec<String>,
    /// Delete the tenant only if it has this version
    #[arg(long, value_name = "VERSION")]
    pub if_version: Option<i64>,
}

#[derive(Debug, Args)]
pub struct RotateTenantSecret {
    /// Tenant id
    pub id: String,
    /// How long requests are also signed with the old secret [default: 24h]
    #[arg(long, value_name = "DURATION")]
    pub overlap: Option<Span>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_judged_before_anybody_is_asked() {
        let read = |text: &str| text.parse::<LimitFlag>();
        assert_eq!(read("schedules=7").expect("a limit").value, Some(Limit::AtMost(7)));
        assert_eq!(read("schedules=unlimited").expect("a limit").value, Some(Limit::Unlimited));
        assert_eq!(read("schedules=default").expect("a limit").value, None);
        for (wrong, says) in [("schedule=7", "schedules"), ("schedules", "no value"), ("schedules=many", "`default`")] {
            let said = read(wrong).expect_err(wrong);
            assert!(said.contains(says), "{wrong}: {said}");
        }
    }

    #[test]
    fn only_what_is_given_is_changed() {
        let flags = TenantFlags {
            limits: vec!["schedules=default".parse().expect("a limit"), "queued_jobs=9".parse().expect("a limit")],
            ..TenantFlags::default()
        };
        let patch = serde_json::to_string(&flags.patch()).expect("plain");
        assert_eq!(patch, r#"{"limits":{"queued_jobs":9,"schedules":null}}"#);
    }
}
