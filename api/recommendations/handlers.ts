import { join } from 'node:path'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { keptSecret } from '../../runtime/kept-secret.ts'
import { systemTimers } from '../../runtime/patient-timer.ts'
import { connectBlobs } from '../../state/blobs/connect.ts'
import { isDecimalUserId } from '../kit/auth/authorize.ts'
import { gauge } from '../kit/metrics.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { adminPart } from './admin/part.ts'
import { recommendationErrors } from './errors.ts'
import { eventsPart } from './events/part.ts'
import { explainPart } from './explain/part.ts'
import { openModel } from './model/open.ts'
import { followModels } from './model/source.ts'
import { modelsPart } from './models/part.ts'
import type { RecommendationsPart } from './part.ts'
import { boundedReads } from './serve/bounded-reads.ts'
import { lastLists } from './serve/last-lists.ts'
import { pageTokens } from './serve/page-token.ts'
import { servePart } from './serve/part.ts'
import { rehearsal } from './serve/rehearsal.ts'
import { listServer } from './serve/serve.ts'
import { shownItems } from './serve/shown-items.ts'
import type { RecommendationsSettings } from './settings.ts'
import { similarPart } from './similar/part.ts'
import { openTables } from './tables.ts'
import { usersPart } from './users/part.ts'

const MS_PER_SECOND = 1_000

/** Creates the handlers of the recommendations service: docs/services/recommendations.md */
export async function recommendationsHandlers(kit: ServiceKit, settings: RecommendationsSettings, open = openModel): Promise<OpenService> {
  const { now, monotonic, surroundings } = kit
  const models = await followModels({
    ...kit,
    blobs: await connectBlobs(kit.state.models),
    openModel: open,
    setTimer: systemTimers.setTimer,
  })
  gauge(kit.metrics.registry, 'recommendation_model_age_seconds', 'Age of the champion that this process uses; 0 for rules', () => {
    const model = models.current(undefined)
    return model === undefined ? 0 : (now() - model.trainedAt) / MS_PER_SECOND
  })
  const tables = await openTables({ ...kit, onItem: models.putItem, newer: models.newer })
  const reads = boundedReads({ timeoutMs: settings.readMs, monotonic })
  const shown = shownItems({ ...kit, reads })
  const lists = listServer({ ...kit, reads, tables, models, shown, last: lastLists(now) })
  const secret = settings.secret ?? keptSecret(join(surroundings.home, 'auth', 'recommendations-secret'))
  const serving = servePart({ ...kit, ...settings, lists, tokens: pageTokens(secret, now), random: Math.random })
  const needs = [...tables.probes, models.probe]
  const rehearsed = rehearsal({
    ...{ items: tables.items, needs, settled: models.settled, rehearse: serving.rehearse },
    ...{ otherWork: setImmediate, wait: (ms) => setTimeout(ms, undefined, { ref: false }), random: Math.random, now, monotonic },
  })
  const parts: readonly RecommendationsPart[] = [
    serving,
    eventsPart(kit),
    similarPart({ tables, shown, lists }),
    usersPart({ ...kit, tables, lists }),
    adminPart({ ...kit, tables }),
    modelsPart({ ...kit, models }),
    explainPart({ ...kit, lists, shown, catalogue: tables }),
  ]
  return {
    name: 'recommendations',
    description: 'Lists of recommended items for each user, with a reason for each item.',
    isUserId: isDecimalUserId,
    errors: Object.values(recommendationErrors),
    // Lists can be served even without Redis.
    worksWithout: ['redis'],
    probes: [...needs, rehearsed, ...parts.flatMap(({ probes = [] }) => probes)],
    routes: parts.flatMap(({ routes }) => routes),
    async close() {
      await Promise.all([tables.close(), models.close(), ...parts.map((part) => part.close?.())])
    },
  }
}
