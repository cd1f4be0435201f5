/**
 * # 15. Commands
 *
 * Most input consists of facts: they have happened, and no caller waits for the result. A *command* is a question: may
 * I have this locker? Two callers may ask at once, only one can have it, and both wait for an answer.
 *
 * One rule of the engine answers it without locks: **all commands about one thing go to one partition, which decides
 * them in order.** The command topic is keyed by the thing. Its partition reads the state, decides, and writes the new
 * state, the view for clients and the answer in one transaction. A sink applies the last two to Redis in one atomic
 * step and notifies the API instance that waits. An answer therefore means that the decision is committed and that
 * everybody can read it.
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
 * ## Commands, views and answers
 *
 * There is a record type for the command, one for the view that clients read, and a type for the answer, which may be
 * any JSON. (In a service the records are in files, chapter 9.) Helper functions wrap them in envelopes. The envelope
 * of a command has its id, its deadline and its caller, and the envelope of a decision has either a view or a result.
 * Both topics have the same number of partitions.
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
 * The decision is a pure function of the state, the command and the time, so you can read and test it without an
 * engine. It omits `state` if nothing changes, and returns null to delete the state.
 */
function decideLocker(state: Locker | undefined, { rider }: Ask, { now }: { now: number }): Decided<Locker, Answer> {
  if (state === undefined) return { answer: { outcome: 'yours', since: now }, state: { rider, since: now } }
  return { answer: state.rider === rider ? { outcome: 'yours', since: state.since } : { outcome: 'taken' } }
}

/*
 * `DECIDING` commits a single command at once, because its caller waits for the commit. Commands that arrive within 15
 * ms of a commit are committed together. For the same reason such topologies run in separate worker processes
 * (`WORKER_ROLE=deciding`), so that no bulk work delays them.
 */
const lockers = topology(
  'lockers',
  (t) => {
    const store = keyedStore('lockers', { key: utf8, value: locker })
    decideCommands(t, { flow: lockerFlow, store, decide: decideLocker, view: (state) => state })
  },
  DECIDING,
)

test('if two riders ask for the same locker, only one gets it', () => {
  const { ask: asks, view, driver } = decisionDriver(lockers, lockerFlow)
  expect(asks('locker-7', { rider: 'ada' })).toEqual({ outcome: 'yours', since: driver.now })
  expect(asks('locker-7', { rider: 'bob' })).toEqual({ outcome: 'taken' })
  expect(view('locker-7')).toEqual({ rider: 'ada', since: driver.now })
})

/*
 * ## Repeated commands
 *
 * Answers can get lost when a connection breaks or a process dies. A caller that repeats a command with the same id
 * gets the first answer, for 24 hours, regardless of later changes. The partition stores the answer beside the state.
 * An id that is reused for another request is a conflict.
 */
test('a repeated command id gets the first answer, even from a worker that was killed and lost its disk', () => {
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
test('after a crash before the commit, no part of the decision is visible', () => {
  const { driver, ask: asks, view } = decisionDriver(lockers, lockerFlow)
  driver.crashAt('produced')
  expect(() => asks('locker-7', { rider: 'ada' }, { id: 'command-1' })).toThrow('crash after produced')
  expect(view('locker-7')).toBeUndefined()
  driver.restart()
  driver.settle()
  expect(view('locker-7')).toMatchObject({ rider: 'ada' })
})

/*
 * ## Deadlines
 *
 * A command has a deadline. While no worker runs, commands wait in the topic. When a worker is back, it drops and
 * counts the commands past their deadline, whose callers have long received an error. A caller may send the same id
 * again with a new deadline.
 */
test('a command is not decided after its deadline', () => {
  const { driver, result, ask: asks } = decisionDriver(lockers, lockerFlow)
  expect(result('locker-7', { rider: 'ada' }, { id: 'command-1', deadline: driver.now - 1 })).toBeUndefined()
  expect(asks('locker-7', { rider: 'bob' })).toMatchObject({ outcome: 'yours' })
  expect(asks('locker-7', { rider: 'ada' }, { id: 'command-1' })).toEqual({ outcome: 'taken' })
})

/*
 * ## Commands that cannot be decided
 *
 * Anybody may send commands, and one of them may reveal a bug in the decision. Such a command goes to the dead letters
 * and has no other effect (chapter 8). Its caller gets no answer, but all other commands are decided. After the bug is
 * fixed, the caller may repeat the command with the same id.
 */
test('a command at which the decision throws does not stop the others', () => {
  const fragile = topology(
    'lockers',
    (t) => {
      const store = keyedStore('lockers', { key: utf8, value: locker })
      function decide(state: Locker | undefined, given: Ask, facts: { now: number }): Decided<Locker, Answer> {
        if (given.rider === '') throw new Error('nobody asks for a locker')
        return decideLocker(state, given, facts)
      }
      decideCommands(t, { flow: lockerFlow, store, decide, view: (state) => state })
    },
    DECIDING,
  )
  const { driver, result, ask: asks, view } = decisionDriver(fragile, lockerFlow)
  expect(result('locker-7', { rider: '' }, { id: 'command-1' })).toBeUndefined()
  expect(view('locker-7')).toBeUndefined()
  expect(asks('locker-7', { rider: 'ada' })).toMatchObject({ outcome: 'yours' })
  expect(driver.readDeadLetters()).toHaveLength(1)

  driver.restart({ topology: lockers })
  expect(asks('locker-7', { rider: '' }, { id: 'command-1' })).toEqual({ outcome: 'taken' })
})

/*
 * ## The other parts
 *
 * The sink is a view sink with `decisionView` around the service's own view. On the API's side,
 * `api/kit/commands/commands.ts` names the command, binds the caller's Idempotency-Key to one request, waits for the
 * answer, and responds with 503 and the command's id if there is none in time. `api/kit/README.md` describes the three
 * steps for a service. `pipelines/links/topology.ts` is an example, with ticks that change state without a command.
 *
 * Read next: chapter 16, joins. Sources: `pipelines/engine/commands/decide.ts`, `schemas/commands/topics.ts`,
 * `state/views/results.ts`, `api/kit/commands/waiting.ts`.
 */
