import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { diskFiles, type SpoolFile, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import { openSerdes } from '../../../../kafka/serdes.ts'
import { swipeEvents } from '../../../../schemas/matches/topics.ts'
import type { SwipeEvent } from '../../../../schemas/matches/types.ts'
import { MAX_RECORD_BYTES, PARTITIONS, plain, QUICK, SOON, spoolFolder, spoolWorld } from './spool-world.ts'

const LATE = { ...QUICK, withinMs: 1 }
/**
 * Options with which a record waits for Kafka for longer than a test may take. A test with these options fails if a
 * record that should be spooled at once waits.
 */
const PATIENT = { ...QUICK, withinMs: 3_600_000 }

async function filesIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.records'))
}

test('a record that Kafka accepts in time is acknowledged and not spooled', async () => {
  const { facts, spool, logged } = await spoolWorld()
  expect(await facts.publishOrSpool(plain, 'a', '1', { ...QUICK, withinMs: 5_000 })).toBe('acknowledged')
  expect([logged(), spool.state.spooled]).toEqual([{ a: ['1'] }, 0])
})

test('a late acknowledgement removes the record from the spool, and nothing is sent twice', async () => {
  const { facts, spool, logged, stop, folder, close } = await spoolWorld()
  const goOn = stop()
  expect(await facts.publishOrSpool(plain, 'a', '1', QUICK)).toBe('spooled')
  expect(spool.state).toMatchObject({ records: 1, spooled: 1, sent: 0 })
  goOn()
  await expect.poll(() => spool.state, SOON).toMatchObject({ records: 0, sent: 1 })
  expect(logged()).toEqual({ a: ['1'] })
  await close()
  expect(await readdir(folder)).toEqual([])
})

test('later records of a key queue behind its spooled records, and records of other keys do not wait', async () => {
  const { facts, logged, stop, spool } = await spoolWorld()
  const goOn = stop()
  const early = [1, 2, 3].map((value) => facts.publishOrSpool(plain, 'a', `${value}`, value === 2 ? LATE : QUICK))
  expect(await Promise.all(early)).toEqual(['spooled', 'spooled', 'spooled'])
  expect(await facts.publishOrSpool(plain, 'a', '4', PATIENT)).toBe('spooled')
  const other = facts.publishOrSpool(plain, 'b', '1', PATIENT)
  goOn()
  expect(await other).toBe('acknowledged')
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(logged()).toEqual({ a: ['1', '2', '3', '4'], b: ['1'] })
  expect(await facts.publishOrSpool(plain, 'a', '5', PATIENT)).toBe('acknowledged')
})

test('after three late records in a row, further records are spooled immediately until Kafka responds', async () => {
  const { facts, stop, spool, logged } = await spoolWorld()
  const goOn = stop()
  for (const key of ['a', 'b', 'c']) expect(await facts.publishOrSpool(plain, key, '1', LATE)).toBe('spooled')
  expect(facts.isAway).toBe(true)
  expect(await facts.publishOrSpool(plain, 'd', '1', PATIENT)).toBe('spooled')
  goOn()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(facts.isAway).toBe(false)
  expect(logged()).toEqual({ a: ['1'], b: ['1'], c: ['1'], d: ['1'] })
})

test('records that are always spooled do not wait for Kafka, are sent once, and do not make Kafka count as unreachable', async () => {
  const { facts, spool, stop, logged } = await spoolWorld()
  const goOn = stop()
  const always = { ...PATIENT, isAlwaysSpooled: true, isDurable: false }
  for (const value of ['1', '2', '3', '4', '5']) expect(await facts.publishOrSpool(plain, `key-${value}`, value, always)).toBe('spooled')
  expect(facts.isAway).toBe(false)
  goOn()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(logged()).toEqual(Object.fromEntries(['1', '2', '3', '4', '5'].map((value) => [`key-${value}`, [value]])))
})

test('a record that Kafka will never accept causes an error for a caller that waits, and is dropped if it was spooled', async () => {
  const { facts, stop, spool, logged } = await spoolWorld()
  const large = 'x'.repeat(MAX_RECORD_BYTES)
  await expect(facts.publishOrSpool(plain, 'a', large, PATIENT)).rejects.toMatchObject({
    definition: { code: 'internal_error' },
  })
  const goOn = stop()
  for (const value of ['1', large, '2']) expect(await facts.publishOrSpool(plain, 'a', value, LATE)).toBe('spooled')
  goOn()
  await expect.poll(() => spool.state, SOON).toMatchObject({ records: 0, sent: 2, dropped: 1 })
  expect(logged()).toEqual({ a: ['1', '2'] })
})

test('a full spool refuses records with the error `unavailable`, and accepts records again once some were sent', async () => {
  const { facts, stop, spool, logged } = await spoolWorld({ maxBytes: 2_000 })
  const goOn = stop()
  const value = 'x'.repeat(400)
  const fates: string[] = []
  for (let index = 0; index < 6; index++)
    fates.push(
      await facts.publishOrSpool(plain, 'a', value, LATE).catch((error: { definition: { code: string } }) => error.definition.code),
    )
  expect(fates).toEqual(['spooled', 'spooled', 'spooled', 'spooled', 'unavailable', 'unavailable'])
  expect(spool.state).toMatchObject({ records: 4, refused: 2 })
  goOn()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  await expect.poll(() => spool.state.bytes, SOON).toBeLessThan(100)
  expect(logged().a.length).toBe(4)
  expect(await facts.publishOrSpool(plain, 'a', value, PATIENT)).toBe('acknowledged')
})

/** Creates a file system whose operations fail while `fault` names them. Counts the writes and syncs. */
function faultyFiles() {
  const state = { fault: undefined as 'write' | 'datasync' | undefined, syncs: 0, writes: 0 }
  const faulty = (file: SpoolFile): SpoolFile => ({
    ...file,
    async write(bytes, position) {
      state.writes++
      if (state.fault !== 'write') return await file.write(bytes, position)
      await file.write(bytes.subarray(0, bytes.length >> 1), position)
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    },
    async datasync() {
      state.syncs++
      if (state.fault === 'datasync') throw new Error('EIO: i/o error')
      await file.datasync()
    },
  })
  const files: SpoolFiles = {
    ...diskFiles,
    create: async (path) => faulty(await diskFiles.create(path)),
    open: async (path) => faulty(await diskFiles.open(path)),
  }
  return { state, files }
}

test.for(['write', 'datasync'] as const)(
  'if %s fails, the caller gets 503, and records that were stored before or afterwards survive',
  async (fault) => {
    const { state, files } = faultyFiles()
    const folder = await spoolFolder()
    const first = await spoolWorld({ folder, files })
    first.stop()
    expect(await first.facts.publishOrSpool(plain, 'a', '1', LATE)).toBe('spooled')
    state.fault = fault
    await expect(first.facts.publishOrSpool(plain, 'b', 'failed', LATE)).rejects.toMatchObject({ definition: { code: 'unavailable' } })
    state.fault = undefined
    expect(await first.facts.publishOrSpool(plain, 'a', '2', LATE)).toBe('spooled')
    await first.close()
    const second = await spoolWorld({ folder })
    await expect.poll(() => second.logged().a, SOON).toEqual(['1', '2'])
  },
)

test('concurrent records share an fdatasync, and records without durability need none', async () => {
  const { state, files } = faultyFiles()
  const { facts, stop } = await spoolWorld({ files })
  stop()
  for (const key of ['x', 'y', 'z']) await facts.publishOrSpool(plain, key, '0', LATE)
  const before = { ...state }
  await Promise.all(Array.from({ length: 500 }, (_, index) => facts.publishOrSpool(plain, `${index}`, 'v', QUICK)))
  expect(state.syncs - before.syncs).toBeLessThanOrEqual(3)
  expect(state.writes - before.writes).toBeLessThanOrEqual(3)
  const synced = state.syncs
  await facts.publishOrSpool(plain, 'fast', 'v', { ...QUICK, isDurable: false })
  expect(state.syncs).toBe(synced)
})

test('a stopped process leaves the records that it could not send, and the next process sends them before newer records of their keys', async () => {
  const folder = await spoolFolder()
  const first = await spoolWorld({ folder })
  first.stop()
  for (let index = 0; index < 30; index++) await first.facts.publishOrSpool(plain, `${index % 3}`, `${index}`, LATE)
  await first.close()
  const second = await spoolWorld({ folder, isConnected: false })
  expect(second.spool.state.records).toBe(30)
  expect(await second.facts.publishOrSpool(plain, '0', '30', PATIENT)).toBe('spooled')
  await second.connect()
  await expect.poll(() => second.spool.state.records, SOON).toBe(0)
  for (const key of [0, 1, 2])
    expect(second.logged()[key]).toEqual(Array.from({ length: key === 0 ? 11 : 10 }, (_, index) => `${index * 3 + key}`))
  await expect.poll(() => filesIn(folder), SOON).toHaveLength(1)
})

test('records that are always spooled wait for the records that a dead process has left for the same key, even if sending these takes long', async () => {
  const folder = await spoolFolder()
  const dead = await spoolWorld({ folder, isConnected: false })
  const always = { ...PATIENT, isAlwaysSpooled: true, isDurable: false }
  expect(await dead.facts.publishOrSpool(plain, 'a', '1', always)).toBe('spooled')
  await dead.close()
  const { facts, logged, publisher } = await spoolWorld({ folder, delayMs: 50 })
  await expect.poll(() => publisher.pendingRecords, SOON).toBe(1)
  expect(await facts.publishOrSpool(plain, 'a', '2', always)).toBe('spooled')
  await expect.poll(() => logged().a?.length, SOON).toBe(2)
  expect(logged().a).toEqual(['1', '2'])
})

test('records of dead processes are sent in the order in which the processes started, and folders of live processes are left alone', async () => {
  const folder = await spoolFolder()
  for (const value of ['1', '2']) {
    const dead = await spoolWorld({ folder, isConnected: false })
    await dead.facts.publishOrSpool(plain, 'a', value, QUICK)
    await dead.close()
  }
  const living = await spoolWorld({ folder, isConnected: false })
  expect(living.spool.state.records).toBe(2)
  const other = await spoolWorld({ folder })
  expect(other.spool.state.records).toBe(0)
  await living.connect()
  await expect.poll(() => living.logged().a, SOON).toEqual(['1', '2'])
  expect(other.logged()).toEqual({})
})

test('if several spools open at once, only one of them adopts each folder', async () => {
  const folder = await spoolFolder()
  for (let index = 0; index < 5; index++) {
    const dead = await spoolWorld({ folder, isConnected: false })
    dead.facts.publishOrSpool(plain, 'a', `${index}`, QUICK).catch(() => undefined)
    await dead.facts.publishOrSpool(plain, `${index}`, 'v', QUICK)
    await dead.close()
  }
  const [a, b, c] = await Promise.all([1, 2, 3].map(() => spoolWorld({ folder, isConnected: false })))
  expect([a, b, c].reduce((sum, { spool }) => sum + spool.state.records, 0)).toBe(10)
  expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([])
  await Promise.all([a, b, c].map(({ connect }) => connect()))
  await expect.poll(() => [a, b, c].flatMap(({ logged }) => logged().a ?? []).toSorted(), SOON).toEqual(['0', '1', '2', '3', '4'])
})

test('files are deleted once all their records are sent, while the process continues', async () => {
  const { facts, stop, spool, folder } = await spoolWorld({ maxBytes: 20_000_000 })
  const goOn = stop()
  const value = 'x'.repeat(4_000)
  await Promise.all(Array.from({ length: 2_500 }, (_, index) => facts.publishOrSpool(plain, `${index}`, value, LATE)))
  expect((await filesIn(folder)).length).toBeGreaterThan(2)
  goOn()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  await expect.poll(() => spool.state.bytes, SOON).toBeLessThan(100)
  await expect.poll(async () => (await filesIn(folder)).length, SOON).toBe(1)
  expect(spool.state).toMatchObject({ sent: 2_500, dropped: 0 })
})

test('a record that is spooled before the registry has answered carries its schema, so that even a process without the topic can send it', async () => {
  const folder = await spoolFolder()
  const broker = memoryBroker()
  for (const { name } of [plain, swipeEvents]) broker.createTopic({ name, partitions: PARTITIONS })
  const registry = memoryRegistry()
  // Registers another schema first, so that the swipe's schema does not have the first id of the registry.
  await registry.register('other', '"string"')
  const swipe: SwipeEvent = {
    swipe_id: 's',
    swiper_id: 'a',
    target_id: 'b',
    direction: 'RIGHT',
    ts: 1,
    duration_ms: null,
    position: null,
  }
  const dead = await spoolWorld({ folder, broker, registry, topics: [swipeEvents], isConnected: false })
  expect(await dead.facts.publishOrSpool(swipeEvents, 'a', swipe, QUICK)).toBe('spooled')
  await dead.close()
  await spoolWorld({ folder, broker, registry, topics: [plain] })
  await expect.poll(() => broker.records(swipeEvents.name).length, SOON).toBe(1)
  const [{ value }] = broker.records(swipeEvents.name)
  const bytes = value as Buffer
  expect(await registry.schemaById(bytes.readUInt32BE(1))).toBe(JSON.stringify(swipeEvents.value.schema))
  const serdes = await openSerdes(registry, [swipeEvents])
  expect(serdes.codecFor(swipeEvents).decode(bytes, 0, bytes.length)).toMatchObject({ swipe_id: 's', target_id: 'b' })
})

test('a process that has loaded its schemas sends spooled records as soon as Kafka is back, even if the registry is still unreachable', async () => {
  const registry = memoryRegistry()
  await registry.register('other', '"string"')
  const { facts, broker, spool, stop } = await spoolWorld({ registry, topics: [swipeEvents] })
  const swipe = (swipe_id: string): SwipeEvent => {
    return { swipe_id, swiper_id: 'a', target_id: 'b', direction: 'RIGHT', ts: 1, duration_ms: null, position: null }
  }
  registry.unreachable = true
  const goOn = stop()
  // Once the first record waits in the spool, the later ones are not given to Kafka before they are read from the file.
  for (const id of ['1', '2', '3']) expect(await facts.publishOrSpool(swipeEvents, 'a', swipe(id), QUICK)).toBe('spooled')
  goOn()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  const serdes = await openSerdes(Object.assign(registry, { unreachable: false }), [swipeEvents])
  const ids = broker.records(swipeEvents.name).map(({ value }) => serdes.codecFor(swipeEvents).decode(value!, 0, value!.length).swipe_id)
  expect(ids).toEqual(['1', '2', '3'])
})

test('records of a topic that does not exist wait, and later records of other topics do not wait for them', async () => {
  const folder = await spoolFolder()
  const broker = memoryBroker()
  broker.createTopic({ name: plain.name, partitions: PARTITIONS })
  const gone = { ...plain, name: 'gone' }
  const dead = await spoolWorld({ folder, broker, topics: [plain, gone], isConnected: false })
  expect(await dead.facts.publishOrSpool(gone, 'a', 'first', QUICK)).toBe('spooled')
  expect(await dead.facts.publishOrSpool(plain, 'a', 'second', QUICK)).toBe('spooled')
  expect(await dead.facts.publishOrSpool(gone, 'a', 'third', QUICK)).toBe('spooled')
  await dead.close()
  const { logged, spool } = await spoolWorld({ folder, broker })
  await expect.poll(() => logged().a, SOON).toEqual(['second'])
  expect(spool.state.records).toBe(2)
  broker.createTopic({ name: gone.name, partitions: PARTITIONS })
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(broker.records(gone.name).map(({ value }) => `${value}`)).toEqual(['first', 'third'])
})

test('spooled records, including those of a dead process, can be read until they are sent', async () => {
  const folder = await spoolFolder()
  const broker = memoryBroker()
  for (const { name } of [plain, swipeEvents]) broker.createTopic({ name, partitions: PARTITIONS })
  const registry = memoryRegistry()
  const swipe = (swipe_id: string): SwipeEvent => {
    return { swipe_id, swiper_id: 'a', target_id: 'b', direction: 'LEFT', ts: 1, duration_ms: null, position: null }
  }
  const topics = [plain, swipeEvents]
  const dead = await spoolWorld({ folder, broker, registry, topics, isConnected: false })
  await dead.facts.publishOrSpool(swipeEvents, 'a', swipe('1'), QUICK)
  await dead.facts.publishOrSpool(plain, 'x', 'another topic', QUICK)
  await dead.close()
  const start = broker.publishGate
  const { promise, resolve } = Promise.withResolvers<void>()
  broker.publishGate = promise
  const { facts, spool } = await spoolWorld({ folder, broker, registry, topics })
  await facts.publishOrSpool(swipeEvents, 'a', swipe('2'), QUICK)
  const waiting = async () => {
    const ids: (string | undefined)[] = []
    for await (const { key, value } of facts.spooled(swipeEvents)) ids.push(`${key} ${value?.swipe_id}`)
    return ids
  }
  expect(await waiting()).toEqual(['a 1', 'a 2'])
  broker.publishGate = start
  resolve()
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  expect(await waiting()).toEqual([])
})
