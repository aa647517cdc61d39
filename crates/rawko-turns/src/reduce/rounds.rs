//! Rounds without progress: the agents get a notice, then the channel rests until a person posts.

use super::ChannelUpdate;
use crate::effect::ChannelEffect;
use crate::names::AgentId;
use crate::notices;
use crate::rounds::RoundJudgement;

impl ChannelUpdate<'_> {
    /// Notes that an agent had its turn, and ends the round if every agent in the queue had one.
    pub(super) fn count_round(&mut self, agent: &AgentId) {
        self.channel.rounds.taken.insert(agent.clone());
        let mut queue =
            self.channel.members.iter().filter(|(_, member)| member.state.is_in_queue()).peekable();
        // An agent alone is idle after its turn, and waits for a message.
        if queue.peek().is_none() || !queue.all(|(agent, _)| self.channel.rounds.taken.contains(agent)) {
            return;
        }
        let rounds = &mut self.channel.rounds;
        rounds.taken.clear();
        rounds.number += 1;
        rounds.without = rounds.without.saturating_add(1);
        let is_spoken = std::mem::take(&mut rounds.spoken);
        self.effects.push(ChannelEffect::RoundEnded { round: rounds.number });
        self.judge_rounds(is_spoken);
    }

    /// A quiet channel rests without a notice, which would only be something to talk about.
    fn judge_rounds(&mut self, is_spoken: bool) {
        let config = self.channel.options.for_channel();
        let (without, is_stuck) = (self.channel.rounds.without, self.channel.rounds.stuck);
        let reached = |limit: u32| limit > 0 && without >= limit;
        if reached(config.stuck_after) && !is_stuck {
            self.channel.rounds.stuck = true;
            if is_spoken {
                self.notice(notices::stuck(without));
            }
        } else if is_spoken && without == config.tell_after && config.tell_after > 0 && !is_stuck {
            self.notice(notices::no_progress(without));
        }
    }

    /// The host has judged a round. Rounds that ended meanwhile still count, and so does a person who posted meanwhile.
    pub(super) fn round_judged(&mut self, judgement: RoundJudgement) {
        let stuck_after = self.channel.options.for_channel().stuck_after;
        let rounds = &mut self.channel.rounds;
        let later = rounds.number.saturating_sub(judgement.round.unwrap_or(rounds.number));
        let later = u32::try_from(later).unwrap_or(u32::MAX);
        let without = judgement.without.saturating_add(later);
        rounds.memory = judgement.memory;
        if without < rounds.without {
            rounds.without = without;
            if stuck_after == 0 || without < stuck_after {
                rounds.stuck = false;
            }
        } else if judgement.is_loop && !rounds.stuck && rounds.without > later {
            rounds.stuck = true;
            self.notice(notices::LOOP.to_owned());
        }
        self.grant_next();
    }
}
