/**
 * # 15. Commands
 *
 * Most input is facts: they have happened, and nobody waits for what comes of them. A *command* is a question: may I have this locker? Two may
 * ask at once, only one can have it, and both wait for an answer.
 *
 * The rule of the engine answers it without locks: **everything about one thing goes to one partition, which decides in order.** The
 * command topic is keyed by the thing. Its partition reads the state, decides, and writes the new state, what clients read and the answer in one
 * transaction. A sink applies the last two to Redis in one atomic step, and tells the API instance that waits. So an answer means:
 * committed, and readable by everybody.
 *
 * You need chapters 2, 7 and 11.
 */

import { expect, test } from 'vitest'
import {
  avroValue,
  type CommandFlow,
  commandTopic,
  DECIDING,
  type Decided,
  decideCommands,
  decisionTopic,
  keyedStore,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import { decisionDriver } from '../../pipelines/engine/testing.ts'

/*
 * ## What can be asked, what is read, what is answered
 *
 * A record for the question, one for what clients read, and a type for the answer, which is anything that JSON holds. (In a service the records
 * lie in files, chapter 9.) The helpers put them into envelopes: the command's with its id, its deadline and who waits, the decision's with room for either
 * a view or a result. Both topics have equally many partitions.
 */
interface Ask {
  readonly rider: string
}

interface Locker {
  readonly rider: string
  readonly since: number
}

type Answer = { readonly outcome: 'yours'; readonly since: number } | { readonly outcome: 'taken' }

const record = (name: string, fields: object[]) => ({ type: 'record', name, namespace: 'guide', fields })
const ask = avroValue<Ask>(record('Ask', [{ name: 'rider', type: 'string' }]))
const locker = avroValue<Locker>(
  record('Locker', [
    { name: 'rider', type: 'string' },
    { name: 'since', type: 'long' },
  ]),
)
const size = { partitions: 2, productionPartitions: 8 }

const lockerFlow: CommandFlow<Ask, Locker, Answer> = {
  name: 'lockers',
  commands: commandTopic('locker-commands', { value: ask, config: {}, ...size }),
  decisions: decisionTopic('locker-decisions', { value: locker, config: { 'cleanup.policy': 'compact' }, ...size }),
}

/*
 * ## Deciding
 *
 * The decision is a pure function of the state, the question and the time: it can be read, and tested, without any engine. It leaves `state` out where
 * nothing changes, and returns null to forget the thing.
 */
function decideLocker(state: Locker | undefined, { rider }: Ask, { now }: { now: number }): Decided<Locker, Answer> {
  if (state === undefined) return { answer: { outcome: 'yours', since: now }, state: { rider, since: now } }
  return { answer: state.rider === rider ? { outcome: 'yours', since: state.since } : { outcome: 'taken' } }
}

/*
 * `DECIDING` commits a command that comes alone at once, since its caller waits for the commit, and those that come within 15 ms of a commit together.
 * For the same reason such topologies run in worker processes of their own (`WORKER_ROLE=deciding`), so that no bulk work stands in front of them.
 */
const lockers = topology(
  'lockers',
  (t) => {
    const store = keyedStore('lockers', { key: utf8, value: locker })
    decideCommands(t, { flow: lockerFlow, store, decide: decideLocker, view: (state) => state })
  },
  DECIDING,
)

test('of two who ask, one has it', () => {
  const { ask: asks, view, driver } = decisionDriver(lockers, lockerFlow)
  expect(asks('locker-7', { rider: 'ada' })).toEqual({ outcome: 'yours', since: driver.now })
  expect(asks('locker-7', { rider: 'bob' })).toEqual({ outcome: 'taken' })
  expect(view('locker-7')).toEqual({ rider: 'ada', since: driver.now })
})

/*
 * ## The same question again
 *
 * Answers get lost: a connection breaks, a process dies. Whoever asks again with the same id gets the first answer, for 24 hours, whatever has
 * happened since; the partition keeps it beside the state. An id that comes with another request is a conflict.
 */
test('an id gets one answer, also from a worker that was killed and has lost its disk', () => {
  const { ask: asks, result, driver } = decisionDriver(lockers, lockerFlow)
  const first = asks('locker-7', { rider: 'ada' }, { id: 'command-1' })
  driver.advanceWallClock(60_000)
  driver.restart({ wipeState: true })
  expect(asks('locker-7', { rider: 'ada' }, { id: 'command-1' })).toEqual(first)
  expect(result('locker-7', { rider: 'bob' }, { id: 'command-1', requestHash: 'another' })?.outcome).toBe('conflict')
})

/*
 * A crash in the middle of the commit leaves nothing (chapter 7): the command is read again, and decided once.
 */
test('a crash before the transaction is committed leaves no half decision', () => {
  const { driver, ask: asks, view } = decisionDriver(lockers, lockerFlow)
  driver.crashAt('produced')
  expect(() => asks('locker-7', { rider: 'ada' }, { id: 'command-1' })).toThrow('crash after produced')
  expect(view('locker-7')).toBeUndefined()
  driver.restart()
  driver.settle()
  expect(view('locker-7')).toMatchObject({ rider: 'ada' })
})

/*
 * ## Too late
 *
 * A command has a deadline. While no worker runs, commands wait in the topic; when one is back, those whose callers have been told long ago that there was no
 * answer are dropped, and counted. The same id may come again with a new deadline.
 */
test('a command that has waited too long is not decided', () => {
  const { driver, result, ask: asks } = decisionDriver(lockers, lockerFlow)
  expect(result('locker-7', { rider: 'ada' }, { id: 'command-1', deadline: driver.now - 1 })).toBeUndefined()
  expect(asks('locker-7', { rider: 'bob' })).toMatchObject({ outcome: 'yours' })
  expect(asks('locker-7', { rider: 'ada' }, { id: 'command-1' })).toEqual({ outcome: 'taken' })
})

/*
 * ## Around it
 *
 * The sink is a view sink with `decisionView` around the service's own view; the API's side is `api/kit/commands/commands.ts`: it names the command,
 * holds the caller's Idempotency-Key to one request, waits for the answer, and says 503 with the command's id when there is none in time. `api/kit/README.md` has
 * the three steps for a service, and `pipelines/links/topology.ts` is one, with ticks that change state without a command.
 *
 * Read next: chapter 16, joins. Sources: `pipelines/engine/commands/decide.ts`, `schemas/commands/topics.ts`, `state/views/results.ts`, `api/kit/commands/waiting.ts`.
 */
