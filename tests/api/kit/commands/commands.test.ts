import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { type CommandRequest, createCommands } from '../../../../api/kit/commands/commands.ts'
import type { Bindings } from '../../../../api/kit/commands/idempotency.ts'
import { ApiError } from '../../../../api/kit/errors.ts'
import { links } from '../../../../pipelines/links/topology.ts'
import { linkFlow } from '../../../../schemas/links/flow.ts'
import { linksView } from '../../../../state/views/links/links.ts'
import { decisionView } from '../../../../state/views/results.ts'
import { linkCommand } from '../../../pipelines/links/commands.ts'
import { decidedWorld } from './decided-world.ts'

const START = Date.UTC(2026, 0, 1)
/** The command timeout. It is long enough for a decision in memory, and short enough to wait for in a test. */
const TIMEOUT_MS = 60
const CODE = 'abc1234'

function world(options: { timeoutMs?: number; bindings?: Bindings; started?: () => Promise<void> } = {}) {
  const made = decidedWorld({
    topology: links,
    commands: [linkFlow.commands],
    views: [[linkFlow.decisions, decisionView(linksView, () => START)]],
    startAt: START,
  })
  const clock = { now: START }
  let keys = 0
  const start = () =>
    createCommands({
      facts: made.facts,
      reader: made.redis.reader,
      bindings: options.bindings ?? made.bindings,
      channel: made.channel,
      now: () => clock.now,
      newKey: () => `made-${++keys}`,
      started: options.started,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    })
  return { ...made, commands: start(), start, clock }
}

const anonymous = (idempotencyKey?: string, address = '192.0.2.1'): CommandRequest => ({
  caller: undefined,
  address,
  idempotencyKey,
  requestId: 'r',
})

async function refusal(work: Promise<unknown>): Promise<{ code: string; commandId: unknown }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ApiError)) throw new Error(`refused with ${error}`)
  return { code: error.definition.code, commandId: error.options.fields?.command_id }
}

test('the work on a command starts only after `started` has resolved', async () => {
  const gate = Promise.withResolvers<void>()
  const bound: string[] = []
  const bindings: Bindings = { bind: async (id) => void bound.push(id), boundTo: async () => undefined, release: async () => undefined }
  const { commands } = world({ bindings, started: () => gate.promise })
  const opening = commands.open(anonymous('key'), ['create'])
  await turn()
  expect(bound).toEqual([])
  gate.resolve()
  const { id } = await opening
  expect(bound).toEqual([id])
})

describe('an answer', () => {
  test('comes from the partition that decides the command, and the change can then be read', async () => {
    const { commands, redis } = world()
    const open = await commands.open(anonymous(), ['create'])
    expect(await open.run(linkFlow, CODE, linkCommand())).toMatchObject({ outcome: 'created' })
    expect(redis.keys().some((key) => key.endsWith(`:link:${CODE}`))).toBe(true)
  })

  test('is read from Redis when the result message was lost', async () => {
    const { commands, faults } = world()
    faults.messagesLost = true
    const open = await commands.open(anonymous(), ['create'])
    expect(await open.run(linkFlow, CODE, linkCommand())).toMatchObject({ outcome: 'created' })
  })

  test('is read from Redis when the result channel reopens', async () => {
    const { commands, faults, decide, channel } = world({ timeoutMs: 30_000 })
    faults.deciderDown = true
    faults.messagesLost = true
    const open = await commands.open(anonymous(), ['create'])
    const answer = open.run(linkFlow, CODE, linkCommand())
    decide()
    channel.reopen()
    expect(await answer).toMatchObject({ outcome: 'created' })
  })

  test('a repeated command gets the first answer, even from an instance that has just started', async () => {
    const { commands, start, published } = world()
    const first = await (await commands.open(anonymous('key'), ['create'])).run(linkFlow, CODE, linkCommand())
    for (const instance of [commands, start()]) {
      expect(await (await instance.open(anonymous('key'), ['create'])).run(linkFlow, CODE, linkCommand())).toEqual(first)
    }
    expect(published).toHaveLength(1)
  })

  test('a repeated command gets the first answer from the deciding partition if Redis has lost the answer', async () => {
    const { commands, loseRedis, published } = world()
    const first = await (await commands.open(anonymous('key'), ['create'])).run(linkFlow, CODE, linkCommand())
    loseRedis()
    const again = await (await commands.open(anonymous('key'), ['create'])).run(linkFlow, CODE, linkCommand())
    expect(again).toEqual(first)
    expect(published).toHaveLength(2)
  })

  test('reaches all concurrent callers with the same id', async () => {
    const { commands, faults, decide } = world({ timeoutMs: 30_000 })
    faults.deciderDown = true
    const opened = await Promise.all([commands.open(anonymous('key'), ['create']), commands.open(anonymous('key'), ['create'])])
    const answers = Promise.all(opened.map((open) => open.run(linkFlow, CODE, linkCommand())))
    await new Promise(setImmediate)
    decide()
    const [one, other] = await answers
    expect(one).toMatchObject({ outcome: 'created' })
    expect(other).toEqual(one)
  })

  test('is separate for each step', async () => {
    const { commands } = world()
    const open = await commands.open(anonymous('key'), ['create'])
    const steps = [await open.run(linkFlow, CODE, linkCommand()), await open.run(linkFlow, CODE, linkCommand(), '1')]
    expect(steps.map(({ outcome }) => outcome)).toEqual(['created', 'taken'])
  })
})

describe('a key', () => {
  test('keeps the value that its first request computed', async () => {
    const { commands, clock } = world()
    const first = async (key?: string) => await (await commands.open(anonymous(key), ['review'])).once('at', () => clock.now)
    expect(await first('key')).toBe(START)
    clock.now += 1_000
    expect(await first('key')).toBe(START)
    expect(await first('other')).toBe(START + 1_000)
    expect(await first()).toBe(START + 1_000)
  })

  test('keeps the value that its first request computed, even if it could not be computed again, but does not keep a failure', async () => {
    const { commands } = world()
    const compute = async (key: string | undefined, value?: object) =>
      await (await commands.open(anonymous(key), ['replace'])).once('images', () => {
        if (value === undefined) throw new Error('unknown image')
        return value
      })
    expect(await compute('key', { image: 1 })).toEqual({ image: 1 })
    expect(await compute('key')).toEqual({ image: 1 })
    expect(await compute('key', { image: 2 })).toEqual({ image: 1 })
    await expect(compute('failing')).rejects.toThrow('unknown image')
    await expect(compute('failing')).rejects.toThrow('unknown image')
    expect(await compute('failing', { image: 3 })).toEqual({ image: 3 })
    await expect(compute(undefined)).rejects.toThrow('unknown image')
  })

  test('is refused with a conflict when it is reused for another request', async () => {
    const { commands } = world()
    await commands.open(anonymous('key'), ['create', 1])
    expect(await refusal(commands.open(anonymous('key'), ['create', 2]))).toMatchObject({ code: 'idempotency_conflict' })
  })

  test('is refused with a conflict when it is reused for another request, even after Redis was emptied', async () => {
    const { commands } = world({
      bindings: { bind: async () => undefined, boundTo: async () => undefined, release: async () => undefined },
    })
    await (await commands.open(anonymous('key'), ['create', 1])).run(linkFlow, CODE, linkCommand())
    const other = await commands.open(anonymous('key'), ['create', 2])
    expect(await refusal(other.run(linkFlow, CODE, linkCommand()))).toMatchObject({ code: 'idempotency_conflict' })
  })

  test.each([
    ['', false],
    [', even if this other request got no answer at first', true],
  ])(
    'still belongs to its original request if another request is the first to use it after Redis was emptied%s',
    async (_title, isKafkaAway) => {
      const { commands, loseRedis, faults } = world()
      const create = async (request: number) =>
        (await commands.open(anonymous('key'), ['create', request])).run(linkFlow, CODE, linkCommand())
      const answer = await create(1)
      loseRedis()
      if (isKafkaAway) {
        faults.kafkaDown = true
        expect(await refusal(create(2))).toMatchObject({ code: 'unavailable' })
        faults.kafkaDown = false
      }
      expect(await refusal(create(2))).toMatchObject({ code: 'idempotency_conflict' })
      expect(await create(1)).toEqual(answer)
      expect(await refusal(create(2))).toMatchObject({ code: 'idempotency_conflict' })
    },
  )

  test('belongs to one caller', async () => {
    const { commands } = world()
    const one = await commands.open(anonymous('key'), ['create', 1])
    const other = await commands.open(anonymous('key', '192.0.2.2'), ['create', 2])
    expect(other.id).not.toBe(one.id)
  })
})

describe('a command that is not decided', () => {
  test('is refused with its id when no decision arrives in time, and a retry with that id gets the answer', async () => {
    const { commands, faults, decide } = world()
    faults.deciderDown = true
    const open = await commands.open(anonymous(), ['create'])
    expect(await refusal(open.run(linkFlow, CODE, linkCommand()))).toEqual({ code: 'unavailable', commandId: 'made-1' })
    faults.deciderDown = false
    decide()
    const again = await commands.open(anonymous('made-1'), ['create'])
    expect(again.id).toBe(open.id)
    expect(await again.run(linkFlow, CODE, linkCommand())).toMatchObject({ outcome: 'created' })
    expect(await refusal(commands.open(anonymous('made-1'), ['another']))).toMatchObject({ code: 'idempotency_conflict' })
  })

  test('is refused with its id when Kafka does not accept the command, and Redis has no answer', async () => {
    const { commands, faults, redis } = world()
    faults.kafkaDown = true
    const open = await commands.open(anonymous('mine'), ['create'])
    expect(await refusal(open.run(linkFlow, CODE, linkCommand()))).toEqual({ code: 'unavailable', commandId: 'mine' })
    expect(redis.keys().some((key) => key.includes(CODE))).toBe(false)
    faults.kafkaDown = false
    expect(await open.run(linkFlow, CODE, linkCommand())).toMatchObject({ outcome: 'created' })
  })

  test('is refused with a message that asks for a retry with its id, because Kafka may have written the command without acknowledging it', async () => {
    const { commands, faults } = world()
    faults.kafkaDown = true
    const open = await commands.open(anonymous(), ['create'])
    await expect(open.run(linkFlow, CODE, linkCommand())).rejects.toThrow(
      'The event log does not respond. The request may still be executed. Try again with the command_id as Idempotency-Key.',
    )
  })

  test('is refused with its id, and not sent, when results cannot be received', async () => {
    const { commands, channel, published } = world()
    channel.isOpen = false
    const open = await commands.open(anonymous(), ['create'])
    expect(await refusal(open.run(linkFlow, CODE, linkCommand()))).toEqual({ code: 'unavailable', commandId: 'made-1' })
    expect(published).toEqual([])
  })

  test('is refused with its id while Redis does not respond, and the channel for results is checked', async () => {
    const { commands, channel, redis, faults } = world()
    const check = vi.spyOn(channel, 'check')
    faults.messagesLost = true
    redis.state.down = true
    const open = await commands.open(anonymous(), ['create'])
    expect(await refusal(open.run(linkFlow, CODE, linkCommand()))).toEqual({ code: 'unavailable', commandId: 'made-1' })
    expect(check).toHaveBeenCalled()
  })

  test('is refused with its id when the idempotency key cannot be stored', async () => {
    const { commands, redis } = world()
    redis.state.down = true
    expect(await refusal(commands.open(anonymous('mine'), ['create']))).toEqual({ code: 'unavailable', commandId: 'mine' })
  })
})
