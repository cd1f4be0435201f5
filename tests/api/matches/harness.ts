import { createCommands } from '../../../api/kit/commands/commands.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { httpMetrics } from '../../../api/kit/metrics.ts'
import { matchesHandlers } from '../../../api/matches/handlers.ts'
import { matchProfiles } from '../../../pipelines/matches/profiles/topology.ts'
import { profileFlow } from '../../../schemas/matches/flow.ts'
import { TAKE_SWIPE } from '../../../state/views/matches/take-swipe.ts'
import { matchUsersView } from '../../../state/views/matches/users.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import { decidedWorld } from '../kit/commands/decided-world.ts'
import { START, testApp } from '../kit/harness.ts'

const TIMEOUT_MS = 100
/** Scripts without an effect. Tests on a real Redis cover the notes that the scripts store. */
const NO_SCRIPTS: ViewScripts = { run: async ({ name }) => (name === TAKE_SWIPE.name ? [0, 0] : 1) }

/** Opens the match feed with fake servers. The real topology decides profile commands. No other topology runs. */
export async function matchesApi() {
  const clock = { now: START }
  const now = () => clock.now
  const world = decidedWorld({
    topology: matchProfiles,
    commands: [profileFlow.commands],
    views: [[profileFlow.decisions, matchUsersView]],
    startAt: START,
  })
  const { facts, bindings, channel, redis } = world
  const commands = createCommands({ facts, reader: redis.reader, bindings, channel, now, timeoutMs: TIMEOUT_MS })
  const metrics = httpMetrics({ process: false })
  const service = matchesHandlers({
    views: redis.reader,
    scripts: NO_SCRIPTS,
    facts,
    commands,
    metrics,
    log: createLogger('silent'),
    now,
    swipeWaitMs: 25,
    swipeCheckMs: 1_000,
  })
  const api = await testApp({ services: [service], probes: [...service.probes] })
  return { ...api, ...world, service, clock }
}
