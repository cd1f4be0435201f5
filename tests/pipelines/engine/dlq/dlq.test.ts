import { expect, test } from 'vitest'
import { memoryTransport } from '../../../../kafka/memory/transport.ts'
import type { Transport } from '../../../../kafka/transport.ts'
import { REPLAY_NOTE_HEADER, readDeadLetters } from '../../../../pipelines/engine/dlq/read.ts'
import { replayDeadLetters } from '../../../../pipelines/engine/dlq/replay.ts'
import { REPLAY_HEADER, SENT_AT_HEADER } from '../../../../pipelines/engine/task/dead-letter.ts'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { deadLetter } from '../../../../pipelines/engine/topology/outcome.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import type { ValuesOf } from '../../../../scripts/command-line/command.ts'
import { runDlq } from '../../../../tools/dlq/command.ts'
import declaration from '../../../../tools/dlq/main.command.ts'
import { numberTopic } from '../words.ts'

const numbers = numberTopic('numbers', 2)
const doubled = numberTopic('doubled', 1)

/** Creates a topology that doubles numbers and rejects numbers below `least`. */
function doubling(least: number) {
  return topology('doubling', (t) => {
    t.source(numbers).process('double', { emits: [doubled] }, (value, ctx) => {
      if (value < least) return deadLetter('too_small', `${value} is less than ${least}`)
      ctx.emit(doubled, ctx.key, value * 2)
    })
  })
}

function withDeadLetters() {
  const driver = testDriver(doubling(0), { startAt: Date.UTC(2026, 0, 1) })
  const trace = [{ key: 'trace', value: Buffer.from('t1') }]
  driver.pipe(numbers, 'a', -1, { headers: trace })
  driver.pipeBytes(numbers, Buffer.from('b'), Buffer.from('no number'))
  driver.pipe(numbers, 'c', -3)
  const transport = memoryTransport(driver.broker)
  return { driver, transport, values: () => driver.read(doubled).map(({ value }) => value) }
}

/** One more than the maximum number of dead letters in one transaction of a replay. */
const MORE_THAN_A_TRANSACTION = 501

const asked = (...args: string[]) => declaration.parse(args) as ValuesOf<typeof declaration>

test('dead letters contain their origin and their reason, and can be selected by both', async () => {
  const { transport } = withDeadLetters()
  const letters = await readDeadLetters(transport, 'doubling')
  expect(letters.map(({ code, source, processor, replayed }) => [code, source.topic, processor, replayed])).toEqual([
    ['too_small', 'numbers', 'double', false],
    ['undecodable_value', 'numbers', '', false],
    ['too_small', 'numbers', 'double', false],
  ])
  expect(await readDeadLetters(transport, 'doubling', { code: 'undecodable_value' })).toHaveLength(1)
  expect(await readDeadLetters(transport, 'doubling', { source: 'elsewhere' })).toEqual([])
  await expect(readDeadLetters(transport, 'nobody')).rejects.toThrow('there is no topic nobody-dead-letters')
})

test('a replay sends the original bytes back to their topic, with a header that marks them as replayed', async () => {
  const { driver, transport, values } = withDeadLetters()
  driver.restart({ topology: doubling(-5) })
  const [original] = driver.broker.records('numbers').filter(({ value }) => String(value) === '-1')
  expect(await replayDeadLetters(transport, 'doubling', { code: 'too_small' })).toEqual({
    replayed: 2,
    skippedReplayed: 0,
    skippedDuplicates: 0,
    skippedReturned: 0,
    skippedCut: 0,
  })
  driver.settle()
  expect(values().sort()).toEqual([-2, -6].sort())
  const replayed = driver.broker.records('numbers').filter(({ value }) => String(value) === '-1')[1]
  expect([replayed.partition, replayed.key, replayed.value, replayed.timestamp]).toEqual([
    original.partition,
    original.key,
    original.value,
    original.timestamp,
  ])
  expect(replayed.headers.map(({ key, value }) => `${key}=${value}`)).toEqual([
    'trace=t1',
    `${REPLAY_HEADER}=1`,
    `${SENT_AT_HEADER}=${original.timestamp}`,
  ])
})

test('a replay of large dead letters is divided into transactions of about 8 MiB, each with its own note', async () => {
  const { driver, transport } = withDeadLetters()
  for (let i = 0; i < 10; i++) driver.pipeBytes(numbers, Buffer.from('b'), Buffer.alloc(1_000_000, 'x'))
  expect(await replayDeadLetters(transport, 'doubling')).toMatchObject({ replayed: 13 })
  const notes = driver.broker.records('doubling-dead-letters').flatMap(({ headers }) => headers)
  const counts = notes.filter(({ key }) => key === REPLAY_NOTE_HEADER).map(({ value }) => String(value).split(' ').length)
  expect(counts).toEqual([12, 1])
})

test('if the source partition of any selected dead letter no longer exists, the replay fails before its first transaction', async () => {
  const driver = testDriver(doubling(0), { startAt: Date.UTC(2026, 0, 1) })
  const memory = memoryTransport(driver.broker)
  const keys = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  for (const key of keys) driver.pipe(numbers, key, -1)
  const partitions = (await readDeadLetters(memory, 'doubling')).map(({ source }) => source.partition)
  for (let letter = 0; letter < MORE_THAN_A_TRANSACTION; letter++) driver.pipe(numbers, keys[partitions.indexOf(0)], -2)
  driver.pipe(numbers, keys[partitions.indexOf(1)], -3)
  // Simulates that the topic was created again with fewer partitions.
  const partitionCounts: Transport['partitionCounts'] = async (topics) =>
    new Map([...(await memory.partitionCounts(topics))].map(([topic, count]) => [topic, topic === 'numbers' ? 1 : count]))
  const transport = { ...memory, partitionCounts }
  const offsets = new Set((await readDeadLetters(memory, 'doubling')).map(({ offset }) => offset).slice(keys.length))
  await expect(replayDeadLetters(transport, 'doubling', { offsets })).rejects.toThrow('its source numbers-1 no longer exists')
  expect((await readDeadLetters(memory, 'doubling')).filter(({ replayed }) => replayed)).toEqual([])
})

test('a replayed dead letter is not replayed again, except on request', async () => {
  const { driver, transport, values } = withDeadLetters()
  driver.restart({ topology: doubling(-5) })
  await replayDeadLetters(transport, 'doubling', { code: 'too_small' })
  expect(await replayDeadLetters(transport, 'doubling', { code: 'too_small' })).toEqual({
    replayed: 0,
    skippedReplayed: 2,
    skippedDuplicates: 0,
    skippedReturned: 0,
    skippedCut: 0,
  })
  const replayed = (await readDeadLetters(transport, 'doubling')).map((letter) => letter.replayed)
  expect(replayed).toEqual([true, false, true])
  await replayDeadLetters(transport, 'doubling', { offsets: new Set([0]), again: true })
  driver.settle()
  expect(values().sort()).toEqual([-2, -2, -6].sort())
})

test('a record with several dead letters is replayed once', async () => {
  const { driver, transport, values } = withDeadLetters()
  driver.restart({ topology: doubling(-5) })
  const repeat = () => driver.broker.append('doubling-dead-letters', 0, driver.broker.records('doubling-dead-letters')[0])
  repeat()
  const first = await replayDeadLetters(transport, 'doubling', { code: 'too_small' })
  expect(first).toMatchObject({ replayed: 2, skippedReplayed: 0, skippedDuplicates: 1 })
  repeat()
  const second = await replayDeadLetters(transport, 'doubling', { code: 'too_small' })
  expect(second).toMatchObject({ replayed: 0, skippedReplayed: 4, skippedDuplicates: 0 })
  const newest = (await readDeadLetters(transport, 'doubling')).at(-1)!
  expect(newest.replayed).toBe(true)
  const third = await replayDeadLetters(transport, 'doubling', { offsets: new Set([newest.offset]) })
  expect(third).toMatchObject({ replayed: 0, skippedReplayed: 1, skippedDuplicates: 0 })
  driver.settle()
  expect(values().sort()).toEqual([-2, -6].sort())
  const texts: string[] = []
  const deps = { transport, names: async () => [], decoder: async () => () => undefined, print: (text: string) => void texts.push(text) }
  await runDlq(asked('replay', 'doubling', '--code', 'too_small', '--again'), deps)
  expect(texts.join('')).toBe('replayed 2 records\nskipped 2 dead letters that repeat an earlier one of the same record\n')
})

test('a record that fails again after a replay is not replayed in a loop', async () => {
  const { driver, transport } = withDeadLetters()
  await replayDeadLetters(transport, 'doubling', { code: 'too_small' })
  driver.settle()
  const back = (await readDeadLetters(transport, 'doubling')).filter((letter) => letter.replays > 0)
  expect(back.map(({ replays, headers }) => [replays, headers.map(({ key }) => key)])).toEqual([
    [1, ['trace']],
    [1, []],
  ])
  expect(await replayDeadLetters(transport, 'doubling', { code: 'too_small' })).toEqual({
    replayed: 0,
    skippedReplayed: 2,
    skippedDuplicates: 0,
    skippedReturned: 2,
    skippedCut: 0,
  })
  const offsets = new Set(back.map(({ offset }) => offset))
  expect(await replayDeadLetters(transport, 'doubling', { offsets, again: true })).toMatchObject({ replayed: 2 })
})

test('headers chosen by a producer neither hide a dead letter nor affect other dead letters', async () => {
  const { driver, transport } = withDeadLetters()
  const chosen = ['replayed=0 2 3', 'cut=value=1', 'topic=elsewhere', 'code=fine'].map((text) => {
    const [name, ...value] = text.split('=')
    return { key: `dead-letter.${name}`, value: Buffer.from(value.join('=')) }
  })
  driver.pipe(numbers, 'd', -4, { headers: chosen })
  const letters = await readDeadLetters(transport, 'doubling')
  expect(letters.map(({ replayed, cut, code, source }) => [replayed, cut, code, source.topic])).toEqual([
    [false, undefined, 'too_small', 'numbers'],
    [false, undefined, 'undecodable_value', 'numbers'],
    [false, undefined, 'too_small', 'numbers'],
    [false, undefined, 'too_small', 'numbers'],
  ])
  expect(letters[3].headers).toEqual(chosen)
  expect(await replayDeadLetters(transport, 'doubling', { code: 'too_small' })).toMatchObject({ replayed: 3, skippedCut: 0 })
})

test('a truncated dead letter is shown as truncated and never replayed', async () => {
  const { driver, transport } = withDeadLetters()
  driver.broker.append('doubling-dead-letters', 0, {
    timestamp: 0,
    key: null,
    value: Buffer.from('no num'),
    headers: Object.entries({ topic: 'numbers', partition: '0', offset: '9', cut: 'value=9' }).map(([key, value]) => ({
      key: `dead-letter.${key}`,
      value: Buffer.from(value),
    })),
  })
  const before = driver.broker.records('numbers').length
  const offset = (await readDeadLetters(transport, 'doubling')).at(-1)?.offset as number
  let out = ''
  const deps = { transport, decoder: async () => () => undefined, names: async () => [], print: (text: string) => (out += text) }
  await runDlq(asked('show', 'doubling', '--offset', String(offset)), deps)
  expect(out).toContain('cut: the record is incomplete; original size in bytes: value=9\n')
  out = ''
  await runDlq(asked('replay', 'doubling', '--offset', String(offset), '--again'), deps)
  expect(out).toBe('replayed 0 records\nskipped 1 dead letters that are incomplete (see show)\n')
  expect(driver.broker.records('numbers')).toHaveLength(before)
})

test('dead letters are read to the end of their topic even if the topic has lost records since the end was requested', async () => {
  const { transport } = withDeadLetters()
  let asked = 0
  const shortened: Transport = {
    ...transport,
    async offsets(places, at) {
      const found = await transport.offsets(places, at)
      // Simulates an unclean leader election: the first answer still counts five records that are then lost.
      return at === 'end' && ++asked === 1 ? new Map([...found].map(([place, offset]) => [place, offset + 5])) : found
    },
  }
  expect(await readDeadLetters(shortened, 'doubling')).toHaveLength(3)
})

test('if there is no dead-letter topic, the list reports this', async () => {
  let out = ''
  const { transport } = withDeadLetters()
  const deps = { transport, decoder: async () => () => undefined, names: async () => [], print: (text: string) => (out += text) }
  await runDlq(asked('list'), deps)
  expect(out).toBe('no topology or sink has a dead-letter topic yet\n')
})

test('a replay that is killed before its commit has no effect: it has neither sent nor marked any dead letter', async () => {
  const { driver, transport } = withDeadLetters()
  const before = driver.broker.records('numbers').length
  const dying = {
    ...transport,
    producer: (options: Parameters<typeof transport.producer>[0]) => transport.producer({ ...options, onCommitStep: die }),
  }
  function die(step: string): void {
    if (step === 'offsets-added') throw new Error('killed')
  }
  await expect(replayDeadLetters(dying, 'doubling', {})).rejects.toThrow('killed')
  expect(driver.broker.records('numbers')).toHaveLength(before)
  expect((await readDeadLetters(transport, 'doubling')).some(({ replayed }) => replayed)).toBe(false)
})

test('the command can list, show and replay dead letters', async () => {
  const { transport } = withDeadLetters()
  let out = ''
  const decoder = async () => () => undefined
  const dlq = (...args: string[]) => {
    out = ''
    return runDlq(asked(...args), { transport, decoder, names: async () => ['doubling'], print: (text) => (out += text) })
  }
  await dlq('list')
  expect(out).toBe('doubling: 3 dead letters\n  too_small from double: 2, offsets 0 to 4\n  undecodable_value: 1, offset 2\n')
  await dlq('show', 'doubling', '--offset', '0')
  expect(out).toBe(`offset: 0
came from: numbers-0 offset 0, 2026-01-01T00:00:00.000Z
code: too_small
message: -1 is less than 0
processor: double
key: "a"
value: "-1"
header trace: "t1"
`)
  await dlq('replay', 'doubling', '--code', 'too_small')
  expect(out).toBe('replayed 2 records\n')
  await dlq('replay', 'doubling', '--code', 'too_small')
  expect(out).toBe('replayed 0 records\nskipped 2 dead letters of records that were already replayed\n')
  await dlq('list', 'doubling')
  expect(out).toBe('doubling: 1 dead letter\n  undecodable_value: 1, offset 2\n  replayed: 2\n')
})

test.each([
  [[], 'COMMAND is missing'],
  [['show'], 'show needs the NAME of a topology or sink'],
  [['replay', 'doubling'], 'select the dead letters to replay with a condition or --all'],
  [['replay', 'doubling', '--offset', 'x'], '--offset must be an integer of at least 0, not "x"'],
  [['list', '--loud'], 'unknown option --loud'],
  [['list', 'a', 'b'], 'unexpected argument "b"'],
])('wrong arguments %j are refused with a pointer to the help', (args, message) => {
  expect(() => asked(...args)).toThrow(message)
  expect(() => asked(...args)).toThrow('see npm run dlq -- --help')
})

test.each(['soon', '', ' ', '-5'])(
  'a replay keeps the timestamp of a record whose producer has set the replay headers to %j',
  async (text) => {
    const driver = testDriver(doubling(0), { startAt: Date.UTC(2026, 0, 1) })
    const headers = [SENT_AT_HEADER, REPLAY_HEADER].map((key) => ({ key, value: Buffer.from(text) }))
    driver.pipe(numbers, 'a', -1, { headers })
    const sentAt = driver.now
    driver.advanceWallClock(1_000)
    const transport = memoryTransport(driver.broker)
    expect(await replayDeadLetters(transport, 'doubling')).toMatchObject({ replayed: 1 })
    const replayed = driver.broker.records(numbers.name).at(-1)!
    expect(replayed.timestamp).toBe(sentAt)
    expect(replayed.headers.map(({ key, value }) => [key, String(value)])).toEqual([
      [REPLAY_HEADER, '1'],
      [SENT_AT_HEADER, String(sentAt)],
    ])
  },
)
