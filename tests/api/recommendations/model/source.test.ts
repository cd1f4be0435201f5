import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openModel } from '../../../../api/recommendations/model/open.ts'
import { type FollowedModels, followModels } from '../../../../api/recommendations/model/source.ts'
import type { ModelHistory, ModelVersion } from '../../../../schemas/recommendations/types.ts'
import { versionsWorld } from '../../../state/versions/world.ts'
import { START } from '../../kit/harness.ts'
import { publishBundle, type TestBundle } from './bundle.ts'

const { blobs, folder } = versionsWorld()
const AXES = new Map([
  [1n, 0],
  [2n, 0],
  [3n, 1],
])
const USERS = 1_000
/** How long to wait before files that could not be fetched are requested again. */
const RETRY_MS = 5_000

let models: FollowedModels
let send: (history: ModelHistory | undefined) => Promise<void>
let refused: { version: string; willRetry: boolean; err: Error }[]
let timers: { ms: number; callback: () => void }[]
let isStoreAway: boolean

beforeEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  refused = []
  timers = []
  isStoreAway = false
  let apply: (key: never, value: never) => void
  models = await followModels({
    openModel,
    blobs: { open: async (hash) => (isStoreAway ? undefined : await blobs.open(hash)) },
    surroundings: { home: folder } as never,
    log: { info() {}, warn() {}, debug() {}, error: (fields: never) => void refused.push(fields) } as never,
    now: () => START,
    setTimer(ms, callback) {
      const timer = { ms, callback }
      timers.push(timer)
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1))
    },
    topicFeeds: (async (_: unknown, put: typeof apply) => {
      apply = put
      return { probe: { name: 'models', check: async () => undefined }, close: async () => undefined }
    }) as never,
  })
  send = async (history) => {
    apply('models' as never, history as never)
    await models.settled()
  }
  return () => models.close()
})

const publish = (sequence: number, more: Partial<TestBundle> = {}) =>
  publishBundle(blobs, { sequence, trainedAt: START + sequence * 1_000, axes: AXES, ...more })
const history = (
  champion: ModelVersion | undefined,
  versions: readonly ModelVersion[],
  more: Partial<ModelHistory> = {},
): ModelHistory => ({
  versions: [...versions],
  champion: champion?.version ?? null,
  challenger: null,
  challenger_percent: 0,
  earlier: [],
  changed_at: START,
  ...more,
})
const inForce = () => models.current(7n)?.sequence

test('the version that a record puts in force is used from the next request, and can be rolled back to the previous version and to the rules', async () => {
  const [one, two] = [await publish(1), await publish(2)]
  expect(inForce()).toBeUndefined()
  await send(history(one, [one]))
  expect(models.current(7n)?.version).toBe(one.version)
  const held = models.current(7n)!
  await send(history(two, [two, one]))
  expect(inForce()).toBe(2)
  // A request that began with a version of the model continues to use that version.
  expect(held.productWith(held.vectorOf(1n)!, 2n)).toBe(1)
  await send(history(one, [two, one]))
  expect(inForce()).toBe(1)
  await send(history(undefined, [two, one]))
  expect(inForce()).toBeUndefined()
})

test('old models are closed after a pause, but never a model that was replaced a moment ago', async () => {
  const versions = [await publish(1), await publish(2), await publish(3)]
  await send(history(versions[0], versions))
  const first = models.current(7n)!
  await send(history(versions[1], versions))
  const second = models.current(7n)!
  await send(history(versions[2], versions))
  // Lets the timers of the first and the second switch expire. Only the first model is closed, because the second was
  // replaced only a moment ago.
  timers[0].callback()
  timers[1].callback()
  expect(() => first.vectorOf(1n)).toThrow('EBADF')
  expect(second.vectorOf(1n)?.[0]).toBe(1)
})

test('the challenger serves its share of the users, always the same users, and no requests without a user', async () => {
  const [one, two] = [await publish(1), await publish(2)]
  const challenged = () => Array.from({ length: USERS }, (_, user) => models.current(BigInt(user))?.sequence === 2)
  const on = (percent: number) => send(history(one, [two, one], { challenger: two.version, challenger_percent: percent }))
  await on(30)
  const some = challenged()
  expect(some.filter(Boolean).length / USERS).toBeGreaterThan(0.25)
  expect(some.filter(Boolean).length / USERS).toBeLessThan(0.35)
  expect(challenged()).toEqual(some)
  await on(50)
  const more = challenged()
  expect(some.every((is, user) => !is || more[user])).toBe(true)
  expect(models.current(undefined)?.sequence).toBe(1)
  await on(0)
  expect(challenged()).not.toContain(true)
})

const NAN_HALF = 0x7e00
test.each<[string, Partial<TestBundle>, string]>([
  ['factors that are not numbers', { damage: { 'items.f16': withHalf } }, 'row 0 are not finite numbers'],
  ['factors that are too short', { damage: { 'items.f16': (content) => content.subarray(2) } }, 'too short'],
  ['vectors of another dimension', { dimensions: 128 }, 'the vectors have 128 numbers'],
  [
    'a wrong checksum',
    { tamper: { 'gram.f64': (content) => Buffer.alloc(content.length, 1) } },
    'gram.f64 does not match its checksum or length',
  ],
  ['NaN in its Gram matrix', { damage: { 'gram.f64': (content) => Buffer.alloc(content.length, 0xff) } }, 'gram.f64 contains NaN'],
  ['unreadable groups', { damage: { 'items.groups': () => Buffer.alloc(100) } }, 'does not contain groups of vectors'],
  ['trees for other columns', { damage: { 'trees.txt': (content) => content.subarray(20) } }, 'feature_names'],
])('a bundle with %s is refused, and the old version stays in use', async (_, damage, message) => {
  const good = await publish(1)
  await send(history(good, [good]))
  const bad = await publish(2, damage)
  await send(history(bad, [bad, good]))
  expect(inForce()).toBe(1)
  expect(refused).toMatchObject([{ role: 'champion', version: bad.version, willRetry: false }])
  expect(refused[0].err.message).toContain(message)
})

function withHalf(content: Buffer): Buffer {
  const damaged = Buffer.from(content)
  damaged.writeUInt16LE(NAN_HALF)
  return damaged
}

test('if the blob store does not have the files yet, they are requested again', async () => {
  const one = await publish(1)
  isStoreAway = true
  await send(history(one, [one]))
  expect([inForce(), refused[0].willRetry]).toEqual([undefined, true])
  isStoreAway = false
  timers[0].callback()
  await models.settled()
  expect(inForce()).toBe(1)
})

test('while the disk accepts no files, the old version is used, and the new version is fetched once the disk works', async () => {
  const [one, two] = [await publish(1), await publish(2)]
  await send(history(one, [one]))
  const place = join(folder, 'data', 'model-versions')
  renameSync(place, `${place}-aside`)
  writeFileSync(place, 'no folder')
  await send(history(two, [two, one]))
  expect([inForce(), refused[0].willRetry]).toEqual([1, true])
  rmSync(place)
  renameSync(`${place}-aside`, place)
  timers.find(({ ms }) => ms === RETRY_MS)!.callback()
  await models.settled()
  expect(inForce()).toBe(2)
})

test('items that the model was not trained on get a vector from their content, whether they are read before or after the model is opened', async () => {
  const item = (title: string) => ({ title, category_path: '', attributes: {} }) as never
  models.putItem(50n, item('Heat'))
  const one = await publish(1, { tokens: { 'title:heat': 1 } })
  await send(history(one, [one]))
  models.putItem(51n, item('Heat two'))
  models.putItem(52n, item('Unknown'))
  const model = models.current(7n)!
  expect([50n, 51n, 52n].map((id) => model.vectorOf(id)?.[1])).toEqual([1, 1, undefined])
  const near = model.nearest(model.vectorOf(50n)!, 3)
  expect(near.map(({ itemId }) => itemId).sort()).toEqual([3n, 50n, 51n])
})
