//! Turn options in four layers: project, agent in the project, channel, agent in the channel. A layer sets only the
//! options that it changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::names::AgentId;

/// Handling of a person's message while an agent has the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptMode {
    /// Held, and posted when the turn ends.
    Queue,
    /// Suspends the turn; the person has the floor.
    Interrupt,
    /// Posted, and delivered to the active agent immediately.
    #[default]
    Inject,
    /// Posted, and delivered to all connected agents; the turn is unaffected.
    Parallel,
}

/// Strategy that selects the next agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOrder {
    /// Round-robin over the list of the channel.
    #[default]
    RoundRobin,
    /// Each agent once per cycle, highest priority first.
    Priority,
    /// Only agents that a person names.
    Manual,
}

/// One layer. Serialized names are those of `turnConfig` in the specification, with additions in the same style.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnOptions {
    /// Time of a turn; waiting does not count.
    #[serde(
        rename = "defaultTimeoutSeconds",
        with = "seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout_ms: Option<u64>,
    /// Effect of a person's message on the current turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_interrupt_mode: Option<InterruptMode>,
    /// Post a notice when a turn used up its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_timeouts: Option<bool>,
    /// Post a notice when an agent disconnects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_disconnects: Option<bool>,
    /// Post a notice when the last agent has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announce_empty: Option<bool>,
    /// End a turn after silence or an end marker in a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_detect_turn_end: Option<bool>,
    /// Silence after a message that ends the turn.
    #[serde(
        rename = "autoDetectSilenceSeconds",
        with = "seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub silence_ms: Option<u64>,
    /// Longest wait of an agent within its turn.
    #[serde(
        rename = "waitTimeoutSeconds",
        with = "seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub wait_timeout_ms: Option<u64>,
    /// Time that a person who interrupted keeps the floor without another message.
    #[serde(rename = "humanHoldSeconds", with = "seconds", default, skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
    /// Time within which a lost connection may be restored.
    #[serde(
        rename = "reconnectGraceSeconds",
        with = "seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub grace_ms: Option<u64>,
    /// Rule that selects the next agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_order: Option<TurnOrder>,
    /// Grant no more turns once every agent had one without posting a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_when_quiet: Option<bool>,
    /// Rounds without progress after which the agents get a notice; 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tell_after_rounds: Option<u32>,
    /// Rounds without progress after which the channel rests until a person posts; 0 means never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck_after_rounds: Option<u32>,
    /// Turns without a message from a person after which the channel rests; 0 means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_unattended_max: Option<u32>,
    /// Number of earlier messages that a new member receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join_messages: Option<u64>,
}

/// Effective options, with all layers merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnConfig {
    /// Time of a turn in milliseconds.
    pub timeout_ms: u64,
    /// Effect of a person's message on the current turn.
    pub interrupt: InterruptMode,
    /// Posts a notice when a turn used up its time.
    pub announce_timeouts: bool,
    /// Posts a notice when an agent disconnects.
    pub announce_disconnects: bool,
    /// Posts a notice when the last agent has left.
    pub announce_empty: bool,
    /// Ends a turn after silence or an end marker in a message.
    pub auto_detect_turn_end: bool,
    /// Silence after a message that ends the turn, in milliseconds.
    pub silence_ms: u64,
    /// Longest wait of an agent within its turn, in milliseconds.
    pub wait_timeout_ms: u64,
    /// Time that a person who interrupted keeps the floor, in milliseconds.
    pub hold_ms: u64,
    /// Time within which a lost connection may be restored, in milliseconds.
    pub grace_ms: u64,
    /// Rule that selects the next agent.
    pub order: TurnOrder,
    /// Rests once every agent had a turn without posting.
    pub rest_when_quiet: bool,
    /// Rounds without progress after which agents get a notice; 0 means never.
    pub tell_after: u32,
    /// Rounds without progress after which the channel rests; 0 means never.
    pub stuck_after: u32,
    /// Turns without a message from a person after which the channel rests; 0 means no limit.
    pub turns_unattended_max: u32,
    /// Number of earlier messages that a new member receives.
    pub join_messages: u64,
}

/// All layers, from the project to the single agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionLayers {
    /// Lowest layer, from the settings.
    #[serde(default)]
    pub project: TurnOptions,
    /// Options of single agents, from the settings.
    #[serde(default)]
    pub project_agents: BTreeMap<AgentId, TurnOptions>,
    /// Options of this channel.
    #[serde(default)]
    pub channel: TurnOptions,
    /// Highest layer: options of single agents in this channel.
    #[serde(default)]
    pub agents: BTreeMap<AgentId, TurnOptions>,
}

impl TurnOptions {
    /// Merges two layers: options set in `self` win over those of `below`.
    #[must_use]
    pub fn over(self, below: &TurnOptions) -> TurnOptions {
        TurnOptions {
            timeout_ms: self.timeout_ms.or(below.timeout_ms),
            human_interrupt_mode: self.human_interrupt_mode.or(below.human_interrupt_mode),
            announce_timeouts: self.announce_timeouts.or(below.announce_timeouts),
            announce_disconnects: self.announce_disconnects.or(below.announce_disconnects),
            announce_empty: self.announce_empty.or(below.announce_empty),
            auto_detect_turn_end: self.auto_detect_turn_end.or(below.auto_detect_turn_end),
            silence_ms: self.silence_ms.or(below.silence_ms),
            wait_timeout_ms: self.wait_timeout_ms.or(below.wait_timeout_ms),
            hold_ms: self.hold_ms.or(below.hold_ms),
            grace_ms: self.grace_ms.or(below.grace_ms),
            turn_order: self.turn_order.or(below.turn_order),
            rest_when_quiet: self.rest_when_quiet.or(below.rest_when_quiet),
            tell_after_rounds: self.tell_after_rounds.or(below.tell_after_rounds),
            stuck_after_rounds: self.stuck_after_rounds.or(below.stuck_after_rounds),
            turns_unattended_max: self.turns_unattended_max.or(below.turns_unattended_max),
            join_messages: self.join_messages.or(below.join_messages),
        }
    }

    fn with_defaults(self) -> TurnConfig {
        TurnConfig {
            timeout_ms: self.timeout_ms.unwrap_or(60_000),
            interrupt: self.human_interrupt_mode.unwrap_or_default(),
            announce_timeouts: self.announce_timeouts.unwrap_or(true),
            announce_disconnects: self.announce_disconnects.unwrap_or(true),
            announce_empty: self.announce_empty.unwrap_or(true),
            auto_detect_turn_end: self.auto_detect_turn_end.unwrap_or(false),
            silence_ms: self.silence_ms.unwrap_or(10_000),
            wait_timeout_ms: self.wait_timeout_ms.unwrap_or(300_000),
            hold_ms: self.hold_ms.unwrap_or(30_000),
            grace_ms: self.grace_ms.unwrap_or(10_000),
            order: self.turn_order.unwrap_or_default(),
            rest_when_quiet: self.rest_when_quiet.unwrap_or(false),
            tell_after: self.tell_after_rounds.unwrap_or(3),
            stuck_after: self.stuck_after_rounds.unwrap_or(5),
            turns_unattended_max: self.turns_unattended_max.unwrap_or(0),
            join_messages: self.join_messages.unwrap_or(20),
        }
    }
}

impl OptionLayers {
    /// Returns the effective options of the channel as a whole.
    pub fn for_channel(&self) -> TurnConfig {
        self.channel.clone().over(&self.project).with_defaults()
    }

    /// Returns the effective options of an agent's turn. The most specific layer wins.
    pub fn for_agent(&self, agent: &AgentId) -> TurnConfig {
        let said = |layer: &BTreeMap<AgentId, TurnOptions>| layer.get(agent).cloned().unwrap_or_default();
        let all =
            said(&self.agents).over(&said(&self.project_agents)).over(&self.channel).over(&self.project);
        all.with_defaults()
    }
}

/// Serializes milliseconds as seconds.
mod seconds {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    /// One year: longer values are mistakes and would overflow elsewhere.
    const SECONDS_MAX: f64 = 31_536_000.0;

    pub(super) fn serialize<S: Serializer>(ms: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        match ms {
            Some(ms) if ms % 1000 == 0 => (ms / 1000).serialize(to),
            #[expect(clippy::cast_precision_loss, reason = "a year of milliseconds fits")]
            Some(ms) => (*ms as f64 / 1000.0).serialize(to),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<u64>, D::Error> {
        let Some(seconds) = Option::<f64>::deserialize(from)? else { return Ok(None) };
        if !(0.0..=SECONDS_MAX).contains(&seconds) {
            return Err(Error::custom(format!("{seconds} seconds is not between 0 and a year")));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        Ok(Some((seconds * 1000.0).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> TurnOptions {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_seeds_page_reads_and_is_the_default() {
        let page = layer(
            r#"{"defaultTimeoutSeconds": 60, "humanInterruptMode": "inject", "announceTimeouts": true,
                "announceDisconnects": true, "autoDetectTurnEnd": false, "autoDetectSilenceSeconds": 10}"#,
        );
        assert_eq!(page.with_defaults(), TurnOptions::default().with_defaults());
    }

    #[test]
    fn the_nearest_layer_wins_for_every_option() {
        let layers = OptionLayers {
            project: layer(
                r#"{"defaultTimeoutSeconds": 1, "waitTimeoutSeconds": 1, "humanHoldSeconds": 1, "joinMessages": 1}"#,
            ),
            project_agents: BTreeMap::from([(
                "ada".into(),
                layer(r#"{"defaultTimeoutSeconds": 3, "waitTimeoutSeconds": 3}"#),
            )]),
            channel: layer(r#"{"defaultTimeoutSeconds": 2, "waitTimeoutSeconds": 2, "humanHoldSeconds": 2}"#),
            agents: BTreeMap::from([("ada".into(), layer(r#"{"defaultTimeoutSeconds": 4.5}"#))]),
        };
        let ada = layers.for_agent(&"ada".into());
        assert_eq!(
            (ada.timeout_ms, ada.wait_timeout_ms, ada.hold_ms, ada.join_messages),
            (4500, 3000, 2000, 1)
        );
        let bob = layers.for_agent(&"bob".into());
        assert_eq!(
            (bob.timeout_ms, bob.wait_timeout_ms, bob.hold_ms, bob.join_messages),
            (2000, 2000, 2000, 1)
        );
        assert_eq!(layers.for_channel(), bob);
    }

    #[test]
    fn what_is_no_option_is_refused() {
        for (text, why) in [
            (r#"{"timeoutSeconds": 1}"#, "unknown field `timeoutSeconds`"),
            (r#"{"humanInterruptMode": "loud"}"#, "unknown variant `loud`"),
            (r#"{"defaultTimeoutSeconds": -1}"#, "-1 seconds is not between 0 and a year"),
        ] {
            let error = serde_json::from_str::<TurnOptions>(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
