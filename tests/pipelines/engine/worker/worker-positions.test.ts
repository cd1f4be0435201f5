import { expect, test } from 'vitest'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { bench, until } from '../harness.ts'
import { lines, numberFormat, numberTopic, textTopic, wordCount, wordCounts } from '../words.ts'

const echoes = textTopic('echoes', 1)
const CHANGELOG = 'words-totals-changelog'

test('a worker does not start if sources that share a store have different partition counts on the broker', async () => {
  const { broker, worker } = bench()
  const joined = topology('joined', (t) => {
    const shared = { stores: [keyedStore('s', { key: utf8, value: numberFormat })] }
    t.source(numberTopic('left')).process('l', shared, () => undefined)
    t.source(numberTopic('right')).process('r', shared, () => undefined)
  })
  broker.createTopic({ name: 'right', partitions: 5 })
  await expect(worker(joined)).rejects.toThrow('left has 2 partitions and right has 5')
})

test('if a topic has more partitions than declared, the worker uses all of them', async () => {
  const { broker, worker, latest } = bench()
  broker.createTopic({ name: 'lines', partitions: 5 })
  const words = await worker(wordCount())
  for (let partition = 0; partition < 5; partition++)
    broker.append('lines', partition, { timestamp: 1, key: Buffer.from('k'), value: Buffer.from('all'), headers: [] })
  await until(() => latest(wordCounts).get('all') === 5, 'five lines')
  expect(words.status().tasks).toHaveLength(8)
})

test.each([
  ['earliest', ['old', 'new']],
  ['latest', ['new']],
] as const)('without a committed offset, a source begins at %s', async (offsetReset, expected) => {
  const { worker, send, all } = bench()
  const copying = topology('copying', (t) => {
    t.source(textTopic('in', 1), { offsetReset }).process('copy', { emits: [echoes] }, (text, ctx) => ctx.emit(echoes, ctx.key, text))
  })
  send(textTopic('in', 1), 'k', 'old')
  const copy = await worker(copying)
  await until(() => copy.status().ready, 'the worker runs')
  send(textTopic('in', 1), 'k', 'new')
  await until(() => all(echoes).at(-1)?.value === 'new', 'the new record is processed')
  expect(all(echoes).map(({ value }) => value)).toEqual(expected)
})

test('with the reset policy "latest", records that arrive while no worker has the partition are processed, even if they are the first records of the partition', async () => {
  const { worker, send, all } = bench()
  const texts = textTopic('in', 1)
  const copying = topology('copying', (t) => {
    t.source(texts, { offsetReset: 'latest' }).process('copy', { emits: [echoes] }, (text, ctx) => ctx.emit(echoes, ctx.key, text))
  })
  const first = await worker(copying)
  await until(() => first.status().ready, 'the first worker runs')
  await first.stop()
  send(texts, 'k', 'between')
  const second = await worker(copying)
  await until(() => second.status().ready, 'the second worker runs')
  send(texts, 'k', 'after')
  await until(() => all(echoes).at(-1)?.value === 'after', 'the last record is processed')
  expect(all(echoes).map(({ value }) => value)).toEqual(['between', 'after'])
})

test('with the reset policy "latest", a record that fails before the first commit does not make the worker skip other records', async () => {
  const { worker, send, all } = bench()
  const texts = textTopic('in', 1)
  const copying = topology('copying', (t) => {
    t.source(texts, { offsetReset: 'latest', onError: { process: 'drop' } }).process('copy', { emits: [echoes] }, (text, ctx) => {
      if (text === 'bad') throw new Error('a bad record')
      ctx.emit(echoes, ctx.key, text)
    })
  })
  const copy = await worker(copying)
  await until(() => copy.status().ready, 'the worker runs')
  for (const text of ['before', 'bad', 'after']) send(texts, 'k', text)
  await until(() => copy.status().metrics.skipped.length > 0 || copy.status().restarts > 0, 'the bad record')
  await until(() => copy.status().ready, 'the worker runs again')
  send(texts, 'k', 'last')
  await until(() => all(echoes).at(-1)?.value === 'last', 'the last record is processed')
  expect(all(echoes).map(({ value }) => value)).toEqual(['before', 'after', 'last'])
})

test('with the reset policy "fail", a missing offset stops the worker', async () => {
  const { worker } = bench()
  const strict = topology('strict', (t) => {
    t.source(textTopic('in', 1), { offsetReset: 'fail' }).process('p', {}, () => undefined)
  })
  const failing = await worker(strict)
  await expect(failing.done).rejects.toThrow('no offset of in-0 is known')
})

test('if the group offsets have expired, the offsets in the state are used', async () => {
  const { broker, worker, send, all } = bench()
  const backend = memoryBackend()
  const first = await worker(wordCount(), { backend })
  send(lines, 'ann', 'a a')
  await until(() => all(wordCounts).length === 2, 'the first line')
  await first.stop()
  broker.groups.forgetOffsets('words')
  send(lines, 'ann', 'a')
  await worker(wordCount(), { backend })
  await until(() => all(wordCounts).length === 3, 'the second line')
  expect(all(wordCounts).map(({ value }) => value)).toEqual([1, 2, 3])
})

/**
 * Deletes a topic and creates it again. Like Kafka, also deletes the offsets of the group, which reads only this topic.
 */
function recreate({ broker }: ReturnType<typeof bench>, topic: Topic<string, string>, group: string): void {
  broker.deleteTopic(topic.name)
  broker.groups.forgetOffsets(group)
  broker.createTopic({ name: topic.name, partitions: topic.partitions })
}

test('a source that was created again while the worker was stopped is read from its beginning, and not from the offset in the state', async () => {
  const texts = textTopic('texts', 1)
  const copying = topology('copying', (t) => {
    t.source(texts).process('copy', { emits: [echoes] }, (text, ctx) => ctx.emit(echoes, ctx.key ?? '', text))
  })
  const b = bench()
  const backend = memoryBackend()
  const first = await b.worker(copying, { backend })
  for (const text of ['a', 'b']) b.send(texts, 'ann', text)
  await until(() => b.all(echoes).length === 2, 'the former records')
  await first.stop()
  recreate(b, texts, 'copying')
  for (const text of ['c', 'd', 'e']) b.send(texts, 'ann', text)
  const second = await b.worker(copying, { backend })
  await until(() => b.all(echoes).length >= 5, 'all new records')
  expect(b.all(echoes).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e'])
  await second.stop()
  b.broker.groups.forgetOffsets('copying')
  b.send(texts, 'ann', 'f')
  await b.worker(copying, { backend })
  await until(() => b.all(echoes).length >= 6, 'the state has the offset in the new topic')
  expect(b.all(echoes).map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
})

test('the state of a source that was created again stops the worker, because the input position of this state is unknown', async () => {
  const texts = textTopic('texts', 1)
  const counting = topology('counting', (t) => {
    const totals = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(texts).process('count', { stores: [totals], emits: [] }, (_text, ctx) => {
      totals.put(ctx.key ?? '', (totals.get(ctx.key ?? '') ?? 0) + 1)
    })
  })
  const b = bench()
  const backend = memoryBackend()
  const first = await b.worker(counting, { backend })
  b.send(texts, 'ann', 'a')
  await until(() => b.broker.log('counting-totals-changelog', 0).endOffset > 0, 'the former record')
  await first.stop()
  recreate(b, texts, 'counting')
  for (const text of ['b', 'c']) b.send(texts, 'ann', text)
  const second = await b.worker(counting, { backend })
  await expect(second.done).rejects.toThrow(/input position that belongs to this state is unknown .*a source was deleted and created again/)
})

test('state without a known input position stops the worker, because input could be counted twice', async () => {
  const { broker, worker, send, all } = bench()
  const first = await worker(wordCount())
  send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length === 1, 'the first line')
  await first.stop()
  broker.groups.forgetOffsets('words')
  const second = await worker(wordCount())
  await expect(second.done).rejects.toThrow(/changelog records, but the input position .*delete the changelog topics/)
})

test('if only the offsets of a repartition topic have expired, the state of the stage that reads this topic stops the worker', async () => {
  const { broker, worker, send, all } = bench()
  const between = 'words-by-word-repartition'
  const first = await worker(wordCount())
  send(lines, 'ann', 'a b c d e f')
  await until(() => all(wordCounts).length === 6, 'the first line')
  await first.stop()
  broker.groups.forgetOffsets('words', between)
  // Offsets expire only after the topic's retention, so the records that they covered are gone.
  for (const partition of [0, 1, 2]) broker.log(between, partition).truncateBefore(1)
  const second = await worker(wordCount())
  await expect(second.done).rejects.toThrow(/changelog records, but the input position .*delete the changelog topics/)
})

test('if an update renames a repartition topic, the stage that reads it keeps its state and reads the new topic from the beginning', async () => {
  const { worker, send, all, latest } = bench()
  const backend = memoryBackend()
  const first = await worker(wordCount(), { backend })
  send(lines, 'ann', 'a b a')
  await until(() => all(wordCounts).length === 3, 'the first line')
  await first.stop()
  const renamed = () => wordCount('words', undefined, {}, undefined, 'by-term')
  // The second worker has the state of the first one, and the third worker begins without state.
  const second = await worker(renamed(), { backend })
  send(lines, 'ann', 'a')
  await until(() => all(wordCounts).length === 4, 'the second line')
  await second.stop()
  await worker(renamed())
  send(lines, 'ann', 'a b')
  await until(() => all(wordCounts).length === 6, 'the third line')
  expect(latest(wordCounts)).toEqual(
    new Map([
      ['a', 4],
      ['b', 2],
    ]),
  )
})

test('processes that end before their first commit leave nothing that the next process mistakes for state', async () => {
  const { broker, worker, send, all, latest } = bench()
  const backend = memoryBackend()
  const counting = wordCount()
  await (await worker(counting, { backend })).stop()
  // An aborted transaction uses up offsets in the log, but has no visible records.
  for (let partition = 0; partition < (broker.partitionCount(CHANGELOG) ?? 0); partition++) broker.log(CHANGELOG, partition).appendControl()
  for (let life = 0; life < 2; life++) {
    const running = await worker(counting, { backend })
    await until(() => running.status().ready, 'the worker runs')
    await running.stop()
  }
  send(lines, 'ann', 'a')
  await worker(counting, { backend })
  await until(() => all(wordCounts).length === 1, 'the line is counted')
  expect(latest(wordCounts)).toEqual(new Map([['a', 1]]))
})
