import { profileFlow } from '../../../schemas/matches/flow.ts'
import { matchDeletions } from '../../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import {
  avro,
  type Change,
  type Context,
  DECIDING,
  decideCommands,
  keyedStore,
  ROLL_EVERY_MS,
  ROLL_KEY,
  rolling,
  topology,
  utf8,
} from '../../engine/index.ts'
import { decideProfile } from './decide.ts'

/** Decides the commands of `/v1/me`. No other topology changes profiles. */
export const matchProfiles = topology(
  'match-profiles',
  function declareProfiles(t) {
    const profiles = keyedStore('profiles', { key: utf8, value: avro('matches/MatchProfile'), erasable: true })
    const logs = rolling()

    function changed({ key, before, after }: Change<MatchProfile>, ctx: Context): void {
      const deletedAt = after?.deleted_at ?? null
      if (deletedAt === null || before?.deleted_at === deletedAt) return
      logs.erased(ctx.now)
      profiles.scrub()
      ctx.broadcast(matchDeletions, key, { user_id: key, deleted_at: deletedAt }, { timestamp: ctx.now })
    }

    const { stream, stores, emits } = decideCommands(t, {
      flow: profileFlow,
      store: profiles,
      decide: decideProfile,
      view: (profile) => profile,
      changed,
      emits: [matchDeletions],
    })

    /** Makes the broker compact the records of deleted profiles. */
    function rollLogs(now: number, ctx: Context): void {
      if (!logs.isNeeded(now)) return
      profiles.roll()
      ctx.emit(profileFlow.decisions, ROLL_KEY, null, { partition: ctx.partition, timestamp: now })
    }

    stream.tick('roll-logs', { everyMs: ROLL_EVERY_MS, clock: 'wall', stores, emits }, rollLogs)
  },
  { ...DECIDING, erasesIds: true },
)
