import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { indexTarget, searchedIndex } from '../../../pipelines/engine/index.ts'
import type { SearchCall, SearchClient } from '../../../state/indexes/client.ts'
import { builderAlias, indexFamily, sinkAlias } from '../../../state/indexes/family.ts'
import { definitionOf } from '../../../state/indexes/search-index.ts'
import { indexWriter, type Position } from '../../../state/indexes/writer.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'
import { testStack, uniqueName } from '../../stack/index.ts'
import { notesIndex, notesIndexOn } from './notes-index.ts'

let url: string
beforeAll(async () => {
  url = await testStack().search()
})

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 20_000, interval: 20 })

function world(extra = {}) {
  const notes = notesIndex(url, uniqueName('notes'), extra)
  return started(notes)
}

function started<W extends Pick<ReturnType<typeof notesIndex>, 'startSink' | 'startKeeper' | 'client' | 'index'>>(notes: W) {
  function startSink(memberId?: string) {
    const sink = notes.startSink(memberId)
    onTestFinished(() => sink.stop())
    return sink
  }
  function startKeeper(memberId?: string, through?: SearchClient) {
    const keeper = notes.startKeeper(memberId, through)
    onTestFinished(() => keeper.stop())
    return keeper
  }
  return { ...notes, startSink, startKeeper }
}

test('searches use an index only when the index is complete, and the index follows its topic', async () => {
  const { write, startSink, startKeeper, found, expected } = world()
  for (let i = 0; i < 50; i++) write(`n${i}`, `note ${i}`)
  write('n3', null)
  const sink = startSink()
  expect(await found()).toBeUndefined()
  startKeeper()
  await eventually(found).toEqual(expected())
  expect(Object.keys(expected())).toHaveLength(49)
  await eventually(() => sink.isReady).toBe(true)
  write('n1', 'changed')
  write('n2', null)
  write('new1', 'added')
  await eventually(found).toEqual(expected())
})

test('the index of a topic without records is complete at once', async () => {
  const { startKeeper, startSink, found, write } = world()
  startKeeper()
  startSink()
  await eventually(found).toEqual({})
  write('n1', 'first')
  await eventually(found).toEqual({ n1: 'first' })
})

test('a document that the index refuses becomes a dead letter, and the other documents are written', async () => {
  const { write, startSink, startKeeper, found, broker, index } = world()
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  write('n1', 'good')
  write('n3', 'size:many')
  write('n5', 'also good')
  await eventually(found).toEqual({ n1: 'good', n5: 'also good' })
  await eventually(() => sink.metrics.badRecords).toBe(1)
  const letters = broker.records(`${index.name}-sink-dead-letters`)
  expect(letters).toHaveLength(1)
  expect(String(letters[0].key)).toBe('n3')
  expect(JSON.stringify(letters[0].headers.map(({ value }) => String(value)))).toContain('refused_by_target')
})

test('on request, a new index is built next to the old one, which is then deleted', async () => {
  const { write, startSink, startKeeper, found, expected, concreteIndexes, requestRebuild, reports } = world()
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  const [before] = await concreteIndexes()
  requestRebuild('r1')
  await eventually(() => reports.some(({ state, requestId }) => state === 'complete' && requestId === 'r1')).toBe(true)
  await eventually(concreteIndexes).toHaveLength(1)
  expect(await concreteIndexes()).not.toEqual([before])
  expect(await found()).toEqual(expected())
  write('n1', 'after the rebuild')
  await eventually(found).toEqual(expected())
  await eventually(() => sink.isReady).toBe(true)
})

test.each([false, true])(
  'a request that is repeated after later requests is not executed again (by another keeper: %j)',
  async (isOther) => {
    const { startKeeper, found, requestRebuild, concreteIndexes, reports } = world()
    const keeper = startKeeper()
    await eventually(found).toEqual({})
    for (const id of ['r1', 'r2']) requestRebuild(id)
    const completed = () => reports.flatMap(({ state, requestId }) => (state === 'complete' ? [requestId] : []))
    await eventually(completed).toEqual(['r1', 'r2'])
    await eventually(concreteIndexes).toHaveLength(1)
    const before = await concreteIndexes()
    if (isOther) {
      await keeper.stop()
      startKeeper('other')
    }
    requestRebuild('r1')
    await eventually(completed).toEqual(['r1', 'r2', 'r1'])
    expect(await concreteIndexes()).toEqual(before)
  },
)

test('records that arrive while the index is replaced are not lost, even if no later record follows', async () => {
  const { write, startSink, startKeeper, found, expected, requestRebuild, reports } = world()
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  for (let round = 0; round < 3; round++) {
    requestRebuild(`r${round}`)
    let i = 0
    while (!reports.some(({ state, requestId }) => state === 'complete' && requestId === `r${round}`)) {
      write(`k${i % 40}`, `round ${round} note ${i++}`)
      expect(await found()).toBeDefined()
    }
    await eventually(found).toEqual(expected())
  }
})

test('a deleted index is built again under a new name, and is not searched before it is complete', async () => {
  const { write, startSink, startKeeper, found, expected, concreteIndexes, client } = world()
  for (let i = 0; i < 30; i++) write(`n${i}`, `note ${i}`)
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  const [before] = await concreteIndexes()
  await client.call({ method: 'DELETE', path: `/${before}` })
  write('n1', 'while it was gone')
  // Collects the sizes of the answers, because `eventually` would retry an assertion that fails.
  const sizes = new Set<number>()
  await eventually(async () => {
    const seen = await found()
    if (seen !== undefined) sizes.add(Object.keys(seen).length)
    return seen
  }).toEqual(expected())
  expect(sizes).toEqual(new Set([30]))
  expect(await concreteIndexes()).not.toContain(before)
  write('n2', 'afterwards')
  await eventually(found).toEqual(expected())
})

test('an index that has lost its data is not refilled while it is searched: a new index replaces it', async () => {
  const { write, startSink, startKeeper, found, expected, concreteIndexes, client } = world()
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  const [before] = await concreteIndexes()
  const { body: all } = await client.call({ method: 'GET', path: `/${before}/_search?size=100&_source=false` })
  const ids = all.hits.hits.map(({ _id }: { _id: string }) => _id)
  expect(ids.length).toBeGreaterThan(20)
  const deletions = ids.map((_id: string) => `${JSON.stringify({ delete: { _id } })}\n`).join('')
  // The keeper may delete the whole index while the server is still handling this request.
  const { body: deleted } = await client.call({ method: 'POST', path: `/${before}/_bulk`, body: deletions })
  const refusals = deleted.items.map((item: { delete: { error?: { type: string } } }) => item.delete.error?.type)
  expect(refusals.filter((type?: string) => type !== undefined && type !== 'index_not_found_exception')).toEqual([])
  write('later', 'a record that the sink would write')
  await eventually(async () => (await concreteIndexes()).includes(before)).toBe(false)
  await eventually(found).toEqual(expected())
})

/** Stores a position beyond the end of the topic, as if Kafka had lost the last records of partition 0. */
async function moveAhead({ notes, client }: Pick<ReturnType<typeof notesIndex>, 'notes' | 'client'>, alias: string) {
  const writer = indexWriter(alias, client)
  const { topicId, next, stamp } = (await writer.position(notes.name, 0)) as Position
  expect(typeof (await writer.putPosition({ topic: notes.name, partition: 0, topicId, next: next + 1_000 }, stamp))).toBe('object')
}

test('an index that is ahead of its topic is replaced, and searched until then', async () => {
  const setting = world()
  const { write, startSink, startKeeper, found, expected, concreteIndexes } = setting
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  await sink.stop()
  const [before] = await concreteIndexes()
  await moveAhead(setting, sinkAlias(before))
  startSink('heir')
  write('n2', 'changed afterwards')
  let unsearchable = 0
  await eventually(async () => {
    if ((await found()) === undefined) unsearchable++
    return (await concreteIndexes()).includes(before)
  }).toBe(false)
  expect(unsearchable).toBe(0)
  await eventually(found).toEqual(expected())
})

test('an index whose topic has gained a partition is deleted only after a new one has replaced it', async () => {
  const { write, startSink, startKeeper, found, expected, concreteIndexes, broker, notes, client } = world()
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  const keeper = startKeeper()
  const sink = startSink()
  await eventually(() => sink.isReady).toBe(true)
  await keeper.stop()
  const [before] = await concreteIndexes()
  broker.addPartitions(notes.name, 3)
  const calls: string[] = []
  const recorded: SearchClient = {
    async call(call) {
      calls.push(`${call.method} ${call.path}`)
      return await client.call(call)
    },
  }
  startKeeper('heir', recorded)
  await eventually(() => calls).toContain(`DELETE /${before}`)
  expect(calls.slice(0, calls.indexOf(`DELETE /${before}`))).toContain('POST /_aliases')
  await eventually(found).toEqual(expected())
})

test('an index is replaced if its topic has lost records while its sink was running, because the index would ignore the new records', async () => {
  const { write, startKeeper, found, expected, concreteIndexes, notes, client, index } = world()
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  startKeeper()
  await eventually(found).toEqual(expected())
  const [before] = await concreteIndexes()
  const target = indexTarget(index, searchedIndex(index, indexFamily(index, client), client))
  const partition = { topic: notes.name, partition: 0 }
  const [topicId] = (await indexFamily(index, client).list()).map((each) => each.topicId)
  const next = (await target.open(partition, {
    start: 0,
    end: 10,
    topicId,
    committed: undefined,
    isBeyondEnd: async () => false,
  })) as number
  const record = { offset: next - 2, timestamp: 0, key: 'n18', value: { text: 'written after the loss' } }
  const batch = { partition, records: [record], expected: next, next: next - 1, caughtUp: true }
  expect(await target.prepare(batch)()).toEqual({ outcome: 'offset-mismatch' })
  await eventually(async () => (await concreteIndexes()).includes(before)).toBe(false)
  await eventually(found).toEqual(expected())
})

test('an unfinished index that is ahead of its topic is not completed: a new one takes its place', async () => {
  const setting = world()
  const { write, startKeeper, found, expected, concreteIndexes, broker, client, index, notes } = setting
  for (let i = 0; i < 20; i++) write(`n${i}`, `note ${i}`)
  const topicId = (await memoryTransport(broker).topicIds([notes.name])).get(notes.name)!
  const name = await indexFamily(index, client).create({ definition: definitionOf(index), topicId }, 'former', 1)
  const writer = indexWriter(builderAlias(name, 'former'), client)
  await writer.putPosition({ topic: notes.name, partition: 0, topicId, next: 1_000 }, undefined)
  startKeeper()
  await eventually(found).toEqual(expected())
  expect(await concreteIndexes()).not.toContain(name)
})

test('when the form of the documents changes, a new index is built, and searches use the old index until the new one is complete', async () => {
  const first = world()
  first.write('n1', 'one')
  const keeper = first.startKeeper()
  await eventually(first.found).toEqual({ n1: 'one' })
  await keeper.stop()
  const second = started(
    notesIndexOn(first.broker, first.client, first.index.name, {
      version: 2,
      documentOf: (_key: string, { text }: { text: string }) => ({ text: text.toUpperCase(), kind: 'note' }),
    }),
  )
  const sink = second.startSink()
  await expect.poll(() => sink.lanes().length).toBe(2)
  expect(await second.found()).toEqual({ n1: 'one' })
  second.startKeeper()
  await eventually(second.found).toEqual({ n1: 'ONE' })
})

/**
 * Creates a client whose first matching call and all later calls fail, as if the process had been killed during that
 * call.
 * @param dies returns true for matching calls
 * @param isApplied whether the server carries out the matching call
 */
function dyingClient(client: SearchClient, dies: (call: SearchCall) => boolean, isApplied: boolean) {
  let isDead = false
  const through: SearchClient = {
    async call(call) {
      if (isDead) throw new TargetUnavailableError('the process is dead')
      if (!dies(call)) return client.call(call)
      isDead = true
      if (isApplied) await client.call(call)
      throw new TargetUnavailableError('the process is dead')
    },
  }
  return { through, isDead: () => isDead }
}

const STEPS: [string, (call: SearchCall) => boolean, isApplied?: boolean][] = [
  ['the creation of the index', ({ method, path }) => method === 'PUT' && /-\d+$/.test(path)],
  ['the first bulk', ({ path }) => path.includes('/_bulk')],
  ['the first position', ({ method, path }) => method === 'PUT' && path.includes('/_doc/')],
  ['the setting of the refresh interval', ({ path }) => path.endsWith('/_settings')],
  ['the refresh', ({ path }) => path.endsWith('/_refresh')],
  ['the change of the alias', ({ path }) => path === '/_aliases'],
  ['the change of the alias', ({ path }) => path === '/_aliases', false],
]

test.each(STEPS.map(([what, step, isApplied = true]) => ({ what, step, isApplied })))(
  'after a keeper dies at $what (carried out: $isApplied), another keeper continues its work',
  async ({ step, isApplied }) => {
    const { write, startKeeper, startSink, found, expected, requestRebuild, concreteIndexes, reports, client } = world()
    for (let i = 0; i < 10; i++) write(`n${i}`, `note ${i}`)
    const before = startKeeper('before')
    const sink = startSink()
    await eventually(() => sink.isReady).toBe(true)
    await before.stop()
    const { through, isDead } = dyingClient(client, step, isApplied)
    const dying = startKeeper('dying', through)
    requestRebuild('r1')
    await eventually(isDead).toBe(true)
    expect(await found()).toEqual(expected())
    write('n1', 'meanwhile')
    await dying.stop()
    startKeeper('heir')
    await eventually(() => reports.some(({ state, requestId }) => state === 'complete' && requestId === 'r1')).toBe(true)
    await eventually(found).toEqual(expected())
    await eventually(concreteIndexes).toHaveLength(1)
  },
)

test('a replaced keeper cannot publish its index, and only one keeper can take over an index', async () => {
  const { index, client } = world()
  const family = indexFamily(index, client)
  const name = await family.create({ definition: 'd', topicId: 't' }, 'zombie', 1)
  const [unfinished] = await family.list()
  expect(await family.takeOver(unfinished, 'heir')).toBe(true)
  expect(await family.publish(name, 'zombie', undefined)).toBe(false)
  expect(await family.current()).toBeUndefined()
  expect(await family.takeOver(unfinished, 'late')).toBe(false)
  expect(await family.publish(name, 'heir', undefined)).toBe(true)
  expect(await family.current()).toMatchObject({ name, isCurrent: true, builders: [] })
})
