import { profileFlow } from '../../../schemas/matches/flow.ts'
import { matchDeletions } from '../../../schemas/matches/topics.ts'
import type { MatchProfile } from '../../../schemas/matches/types.ts'
import { avro, type Change, type Context, DECIDING, decideCommands, keyedStore, topology, utf8 } from '../../engine/index.ts'
import { decideProfile } from './decide.ts'

/** Decides the commands of `/v1/me`. No other topology changes profiles. */
export const matchProfiles = topology(
  'match-profiles',
  function declareProfiles(t) {
    const profiles = keyedStore('profiles', { key: utf8, value: avro('matches/MatchProfile') })

    function changed({ key, before, after }: Change<MatchProfile>, ctx: Context): void {
      const deletedAt = after?.deleted_at ?? null
      if (deletedAt === null || before?.deleted_at === deletedAt) return
      ctx.broadcast(matchDeletions, key, { user_id: key, deleted_at: deletedAt }, { timestamp: ctx.now })
    }

    decideCommands(t, {
      flow: profileFlow,
      store: profiles,
      decide: decideProfile,
      view: (profile) => profile,
      changed,
      emits: [matchDeletions],
    })
  },
  DECIDING,
)
