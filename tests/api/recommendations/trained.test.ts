import { expect, onTestFinished, test } from 'vitest'
import { type OpenModel, openModel } from '../../../api/recommendations/model/open.ts'
import { insertInteraction, NO_HISTORY } from '../../../schemas/recommendations/events/packed-history.ts'
import { insertItem, NO_ITEMS } from '../../../schemas/recommendations/events/packed-items.ts'
import { RANKING_WIDTH } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { ModelVersion } from '../../../schemas/recommendations/types.ts'
import { connectBlobs } from '../../../state/blobs/connect.ts'
import { START } from '../kit/harness.ts'
import { recommendationsApi, SOME_USER } from './harness.ts'
import { publishBundle } from './model/bundle.ts'

const ITEMS = 60n
const HOUR_MS = 3_600_000
/** After this time, a user's last list is not served again. */
const LAST_LIST_MS = 30 * 60_000 + 1
/** Returns the axis of an item's vector. A third of the items is on each axis. */
const axisOf = (itemId: bigint) => Number(itemId % 3n)

const broken = { vectors: false, ranking: false, foldIn: false }
let opened: OpenModel

/** Opens a model whose vectors, trees or factors fail while the properties of `broken` are set. */
async function openBrittle(folder: string): Promise<OpenModel> {
  const model = await openModel(folder)
  opened = model
  return {
    ...model,
    foldIn(history) {
      if (broken.foldIn) throw new Error('the factors are broken')
      return model.foldIn(history)
    },
    nearest(vector, count) {
      if (broken.vectors) throw new Error('the vectors are broken')
      return model.nearest(vector, count)
    },
    similarTo(itemId, count) {
      if (broken.vectors) throw new Error('the vectors are broken')
      return model.similarTo(itemId, count)
    },
    score(features, rows) {
      if (broken.ranking) throw new Error('the trees are broken')
      return model.score(features, rows)
    },
  }
}

/** Starts an API with a model in force, and a user who has watched an item of the first axis. */
async function trainedApi() {
  const api = await recommendationsApi({ open: openBrittle })
  onTestFinished(async () => {
    Object.assign(broken, { vectors: false, ranking: false, foldIn: false })
    await api.service.close?.()
  })
  for (let id = 1n; id <= ITEMS; id++) api.putItem(id, { attributes: { genres: `Genre ${id}` } })
  api.putTrending('all', [4n, 5n])
  const watched = { itemId: 3n, at: START - 60_000, weight: 1, type: 'VIEW' as const }
  const self = { ...SOME_USER, history: insertInteraction(NO_HISTORY, watched) }
  api.putUser('42:self', { page: null, self })
  const hide = (itemId: bigint) =>
    api.putUser('42:self', { page: null, self: { ...self, hidden: insertItem(NO_ITEMS, itemId, START, 10) } })
  const list = async () => (await api.send('GET', '/api/v1/recommendations?limit=50&explain=true', { user: '42', scope: 'internal' })).body
  const before = await list()
  const blobs = await connectBlobs(api.modelBlobs)
  const axes = new Map(Array.from({ length: Number(ITEMS) }, (_, index) => [BigInt(index + 1), axisOf(BigInt(index + 1))]))
  const version = await publishBundle(blobs, { sequence: 1, trainedAt: START - HOUR_MS, axes })
  put(version.version)
  await expect.poll(async () => (await list()).model_version).toBe(version.version)

  function put(champion: string | null): void {
    const versions: ModelVersion[] = [version]
    api.putModels({ versions, champion, challenger: null, challenger_percent: 0, earlier: [''], changed_at: START })
  }

  return { api, list, before, version: version.version, put, hide }
}

interface Listed {
  readonly item_id: string
  readonly score: number
  readonly explain: { readonly channel: string; readonly features: { readonly vector_similarity: number } }
}
const similarities = (body: { recommendations: Listed[] }) =>
  body.recommendations.filter(({ explain }) => explain.channel !== 'exploration').map(({ explain }) => explain.features.vector_similarity)

test('while a record puts a model in force, lists name the model and begin with the items whose vectors are most similar, and afterwards the rules are used again', async () => {
  const { list, before, version, put } = await trainedApi()
  expect([before.model_version, new Set(similarities(before))]).toEqual(['rules-1', new Set([0])])
  const body = await list()
  expect([body.model_version, body.degraded]).toEqual([version, []])
  const found = similarities(body)
  expect(found[0]).toBeCloseTo(1, 3)
  expect(found).toEqual(found.toSorted((a, b) => b - a))
  expect(body.recommendations[0].explain.channel).toBe('vector')
  expect(axisOf(BigInt(body.recommendations[0].item_id))).toBe(0)
  put(null)
  expect((await list()).model_version).toBe('rules-1')
})

test('the model computes exactly the served scores from the recorded features of a list', async () => {
  const { api, list } = await trainedApi()
  const { request_id, model_version } = await list()
  const { value } = api.published.findLast(({ topic }) => topic === 'recommendations-served')!
  expect([value.request_id, value.model_version]).toEqual([request_id, model_version])
  const served: readonly { readonly score: number; readonly features: readonly number[] }[] = value.items
  expect(served.length).toBeGreaterThan(20)
  const features = Float64Array.from(served.flatMap((item) => item.features))
  expect(features).toHaveLength(served.length * RANKING_WIDTH)
  expect(Array.from(opened.score(features, served.length)!)).toEqual(served.map(({ score }) => score))
})

test('without vectors, the trees rank candidates from neighbours and trends', async () => {
  const { api, list, version } = await trainedApi()
  broken.vectors = true
  api.state.now = START + LAST_LIST_MS
  const body = await list()
  expect([body.model_version, body.degraded]).toEqual([version, ['vectors']])
  expect(body.recommendations.length).toBeGreaterThan(0)
  expect(body.recommendations.some(({ explain }: Listed) => explain.channel === 'vector')).toBe(false)
  expect(new Set(similarities(body))).toEqual(new Set([0]))
})

test('if a search of the vectors fails, the last list is served again without items that the user has hidden since', async () => {
  const { api, list, hide } = await trainedApi()
  const before = (await list()).recommendations.map(({ item_id }: Listed) => item_id)
  hide(BigInt(before[0]))
  broken.vectors = true
  const body = await list()
  expect(body.degraded).toEqual(['vectors'])
  expect(body.recommendations.map(({ item_id }: Listed) => item_id)).toEqual(before.slice(1))
  // Serving the list again does not extend its lifetime, so the list expires.
  api.state.now = START + LAST_LIST_MS
  expect((await list()).recommendations.some(({ explain }: Listed) => explain?.channel === 'trending')).toBe(true)
})

test('if a search of the vectors fails, the list of similar items is empty and reports that the vectors are missing', async () => {
  const { api } = await trainedApi()
  const similar = async () => (await api.send('GET', '/api/v1/items/3/similar')).body
  const whole = await similar()
  expect([whole.similar_items.length > 0, whole.degraded]).toEqual([true, []])
  broken.vectors = true
  expect(await similar()).toEqual({ source_item: '3', similar_items: [], degraded: ['vectors'] })
})

test('a list that is served again names the model that made it, even if another model has been put in force since', async () => {
  const { api, list, version, put } = await trainedApi()
  const scores = ({ recommendations }: { recommendations: Listed[] }) => recommendations.map(({ item_id, score }) => [item_id, score])
  const before = await list()
  put(null)
  api.state.isRedisAway = true
  const again = await list()
  expect([again.degraded, scores(again), again.model_version]).toEqual([['features'], scores(before), version])
  const { value } = api.published.findLast(({ topic }) => topic === 'recommendations-served')!
  expect(value.model_version).toBe(version)
  expect((await api.send('GET', '/api/v1/recommendations?rec_type=trending', { user: '42' })).body.model_version).toBe('rules-1')
})

test('without trees, the candidates are sorted by the similarity of their vectors', async () => {
  const { list, version } = await trainedApi()
  broken.ranking = true
  const body = await list()
  expect([body.model_version, body.degraded]).toEqual([version, ['ranking']])
  const found = similarities(body)
  expect(found[0]).toBeCloseTo(1, 3)
  expect(found).toEqual(found.toSorted((a, b) => b - a))
  expect(body.recommendations[0].score).toBeCloseTo(1, 3)
})

test('without vectors and trees, the rules rank the candidates, and requests for similar items still succeed', async () => {
  const { api, list } = await trainedApi()
  Object.assign(broken, { vectors: true, ranking: true })
  api.state.now = START + LAST_LIST_MS
  const body = await list()
  expect([body.model_version, body.degraded]).toEqual(['rules-1', ['vectors', 'ranking']])
  expect((await api.send('GET', '/api/v1/items/3/similar')).status).toBe(200)
})

test('if the model cannot compute the vector of a user, the embedding consists of zeros', async () => {
  const { api } = await trainedApi()
  const embedding = async () => {
    const { status, body } = await api.send('GET', '/internal/features/user/42', { user: 'service', scope: 'internal' })
    return [status, body.embedding.length, Math.hypot(...body.embedding)]
  }
  expect(await embedding()).toEqual([200, 256, expect.closeTo(1, 5)])
  broken.foldIn = true
  expect(await embedding()).toEqual([200, 256, 0])
})

test('a model that is older than six hours is still used, and the response and the metric of its age say that the model is old', async () => {
  const { api, list, version } = await trainedApi()
  api.state.now = START + 5 * HOUR_MS + 1
  const body = await list()
  expect([body.model_version, body.degraded]).toEqual([version, ['model_age']])
  expect(await api.metrics.text()).toContain(`recommendation_model_age_seconds ${(6 * HOUR_MS + 1) / 1_000}`)
  const features = await api.send('GET', '/internal/features/user/42', { user: 'service', scope: 'internal' })
  const trainedAt = new Date(START - HOUR_MS).toISOString()
  expect(features.body).toMatchObject({ embedding_version: 1, embedding_updated_at: trainedAt })
})
