import { ENTITY_KINDS, type EntityKind } from '../../../schemas/fraud/entity.ts'
import { eventsOf } from '../../../schemas/fraud/events.ts'
import type { Enrichments } from '../../../schemas/fraud/features/features.ts'
import { profileBytes } from '../../../schemas/fraud/profile/bytes.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { RuleTallies } from '../../../schemas/fraud/rules/tallies.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import { heldEntity } from '../../../state/views/fraud/enrich.ts'
import { flightRow } from '../../../state/views/fraud/in-flight.ts'
import type { ViewScripts } from '../../../state/views/view.ts'
import type { BlocklistInForce, ModelScorer, SettingsInForce } from '../in-force.ts'
import { type EntityProfiles, entityProfiles } from '../profiles/entity-profiles.ts'
import { keptAnswers } from './kept-answers.ts'
import { type Scorer, type ScorerDeps, scorer } from './scorer.ts'

/**
 * How long Redis keeps the data of a rehearsal. The id of a rehearsal is never used again, so the data is not needed
 * afterwards.
 */
const KEPT_MS = 1
const EVENTS = 24
const EVENT_EVERY_MS = 1_800_000

export interface RehearsalDeps extends Pick<ScorerDeps, 'ipFactsOf' | 'now' | 'monotonic' | 'setTimer'> {
  readonly scripts: ViewScripts
  readonly settings: SettingsInForce
  readonly blocklist: BlocklistInForce
  /** Scores without recording metrics. */
  readonly rehearse: ModelScorer['score']
  partitionOf(entity: string): number
}

const ignore = () => undefined

/**
 * Creates a scorer that works like the scorer of real payments, with the same settings, blocklist, models and Redis.
 * This scorer leaves nothing behind: no event, no kept answer, no transaction in flight and no measurement. The
 * entities have a made-up history, so that the rehearsal also decodes profiles.
 */
export function rehearsal(deps: RehearsalDeps): Scorer {
  const { scripts, settings, blocklist, rehearse, partitionOf, now } = deps
  const looked = entityProfiles({ scripts, partitionOf, onFailure: ignore, inFlightMs: KEPT_MS, now })
  return scorer({
    ...deps,
    settings: uncounted(settings),
    blocklist,
    models: { score: rehearse },
    profiles: { ...looked, enrich: withHistory(looked, now) },
    answers: keptAnswers({ scripts, keptMs: KEPT_MS, onFailure: ignore }),
    log: { record: () => Promise.resolve(true), audit: () => Promise.resolve(true) },
    observe: ignore,
    observer: { scored: ignore },
  })
}

function uncounted(settings: SettingsInForce): ScorerDeps['settings'] {
  return {
    get ruleSet() {
      return settings.ruleSet
    },
    get tallies() {
      return new RuleTallies(settings.ruleSet)
    },
    get lists() {
      return settings.lists
    },
    get snoozes() {
      return settings.snoozes
    },
    get policy() {
      return settings.policy
    },
    get isStale() {
      return settings.isStale
    },
  }
}

/** Sends the real lookups to Redis, but then decodes a made-up history instead of the results. */
function withHistory({ enrich }: EntityProfiles, now: () => number): EntityProfiles['enrich'] {
  return async (request, at) => {
    await enrich(request, at)
    const found: Partial<Record<EntityKind, unknown>> = {}
    for (const { kind, event } of eventsOf(request)) {
      const flight = flightRow({ ...event, id: event.id + 1 }, now())
      found[kind] = heldEntity({ profile: historyOf(kind, request), flight, counted: [] }, now())
    }
    return Object.fromEntries(ENTITY_KINDS.map((kind) => [kind, found[kind]])) as Enrichments
  }
}

function historyOf(kind: EntityKind, request: FraudRequest): Buffer {
  const { event } = eventsOf(request).find((one) => one.kind === kind)!
  const events = Array.from({ length: EVENTS }, (_, index) => ({
    ...event,
    id: event.id + index + 2,
    at: event.at - index * EVENT_EVERY_MS,
  }))
  return profileBytes(foldEvents(NEW_PROFILE, PROFILE_SHAPES[kind], events))
}
