/**
 * # 15. Commands
 *
 * Most input consists of facts: something has already happened, and no caller waits for a result. A *command* is a
 * question: may I have this locker? Two callers may ask at once, only one can have it, and both wait for an answer.
 *
 * The engine answers such questions without locks, by one rule: **all commands about the same thing go to the same
 * partition, which decides them in order.** The key of the command topic is the thing, here the locker. The partition's
 * task reads the state, decides, and writes the new state, the view for clients and the answer in one transaction. A
 * sink then writes the view and the answer to Redis, never the answer before the view, and notifies the waiting API
 * instance. When a caller gets an answer, the decision is therefore committed, and everybody can already read it.
 *
 * You need chapters 2, 7 and 11.
 */

import { expect, test } from 'vitest'
import {
  APPEND_TIME,
  avroValue,
  type CommandFlow,
  commandTopic,
  DECIDING,
  type Decided,
  decideCommands,
  decisionTopic,
  emission,
  keyedStore,
  type Rows,
  row,
  type Topic,
  timerStore,
  topology,
  utf8,
} from '../../pipelines/engine/index.ts'
import { decisionDriver } from '../../pipelines/engine/testing.ts'

/*
 * ## Commands, views and answers
 *
 * You define three types: the command, the row of the view that clients read, and the answer, which may be any JSON
 * value. (In a service, the schemas of commands and rows are in files; see chapter 9.) `commandTopic` and
 * `decisionTopic` wrap these records in envelopes. The envelope of a command contains its id, a hash of the request,
 * its deadline and the API instance that waits for the answer. The envelope of a decision contains either a row of the
 * view or the result of a command. The command topic and the decision topic have the same number of partitions.
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
 * The decision is a pure function of the state, the command and the time, so you can understand and test it without an
 * engine. The function returns an answer and the new `state`. It omits `state` if nothing changes; a `state` of null
 * deletes the state.
 */
function decideLocker(state: Locker | undefined, { rider }: Ask, { now }: { now: number }): Decided<Locker, Answer> {
  if (state === undefined) return { answer: { outcome: 'yours', since: now }, state: { rider, since: now } }
  return { answer: state.rider === rider ? { outcome: 'yours', since: state.since } : { outcome: 'taken' } }
}

/*
 * With the options `DECIDING`, the engine commits a single command at once, because its caller waits for the commit.
 * Commands that arrive within 15 ms after a commit share the next commit. Topologies that decide commands also run in
 * worker processes of their own (`WORKER_ROLE=deciding`), so that bulk work in other topologies does not delay callers.
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
 * gets the first answer, for 24 hours, regardless of later changes. To make this possible, the engine stores the answer
 * together with the state. If the same id is used for a different request, the result is a conflict.
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
 * A crash in the middle of the commit leaves nothing behind (chapter 7). After the restart, the command is read and
 * decided again, and only this decision takes effect.
 */
test('after a crash during the commit, no part of the decision is visible, and the restarted worker decides again', () => {
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
 * counts the commands whose deadline has passed, because their callers have already received an error. A caller may
 * send the command again with the same id and a new deadline.
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
 * Anybody may send commands, and a command may trigger a bug, so that the decision function throws. Such a command goes
 * to the dead letters and has no other effect (chapter 8). Its caller gets no answer, but all other commands are
 * decided. After the bug is fixed, the caller may repeat the command with the same id.
 */
test('a command that makes the decision throw does not stop other commands', () => {
  const fragile = topology(
    'lockers',
    (t) => {
      const store = keyedStore('lockers', { key: utf8, value: locker })
      function decide(state: Locker | undefined, given: Ask, facts: { now: number }): Decided<Locker, Answer> {
        if (given.rider === '') throw new Error('the command names no rider')
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
 * ## Several rows
 *
 * A decision often changes more than one row. Suppose that a station counts its free lockers, and that each rental is a
 * separate row, because a station may have a hundred thousand rentals. The count and the rental must change together or
 * not at all.
 *
 * A decision can change only rows in the partition of its command, so the key of the commands must be what the rows
 * have in common, here the station. The option `rows.stores` lists the stores. `rows.reads` announces the rows that a
 * command will read, so that the engine can read the rows for a whole batch at once. The decision function reads rows
 * with `rows.get`, or in key order with `rows.scan`, and returns its changes as data: `puts` for rows and timers,
 * `emits` for records. The decision therefore remains a pure function.
 */
interface RentalAsk {
  readonly rider: string
  /** The id of the rental to extend; null for a new rental. */
  readonly extend: string | null
}

interface Station {
  readonly free: number
}

interface Rental {
  readonly rider: string
  readonly until: number
}

type RentalAnswer = { readonly outcome: 'rented'; readonly rental: string; readonly until: number } | { readonly outcome: 'full' | 'over' }

const rentalAsk = record('RentalAsk', [
  { name: 'rider', type: 'string' },
  { name: 'extend', type: ['null', 'string'] },
])
const rental = avroValue<Rental>(
  record('Rental', [
    { name: 'rider', type: 'string' },
    { name: 'until', type: 'long' },
  ]),
)
const station = avroValue<Station>(record('Station', [{ name: 'free', type: 'int' }]))

/*
 * ## The time that counts
 *
 * A rider extends a rental shortly before its end, and the worker dies. When the next worker reads the command, the
 * rental has already ended. If the worker used its own clock, the rider would lose the locker through no fault of their
 * own. With `judgedBy: 'append-time'`, `now` is the latest time at which the broker has appended this command or an
 * earlier one to the log. It therefore never goes back within a partition. Since the outcome then depends only on the
 * log, it can be checked later. The topic needs the configuration `APPEND_TIME`, so that senders cannot choose the time
 * themselves (ADR 30).
 *
 * A tick ends rentals. Its clock is `caught-up` (chapter 5), so it waits for commands that were sent before the end.
 */
const rentalFlow: CommandFlow<RentalAsk, Station, RentalAnswer> = {
  name: 'rentals',
  commands: commandTopic('rental-commands', { value: avroValue(rentalAsk), config: APPEND_TIME, ...size }),
  decisions: decisionTopic('rental-decisions', { value: station, config: { 'cleanup.policy': 'compact' }, ...size }),
}
const rentals: Topic<string, Rental> = { name: 'rentals', key: utf8, value: rental, partitions: 2 }

const LOCKERS = 2
const RENTAL_MS = 3_600_000
const ENDED_PER_TICK = 100

const stations = topology(
  'stations',
  (t) => {
    const store = keyedStore('stations', { key: utf8, value: station })
    const open = keyedStore('open', { key: utf8, value: rental })
    const ends = timerStore('ends', { key: utf8 })
    interface Facts {
      readonly now: number
      readonly commandId: string
      readonly rows: Rows
    }

    function decide({ free }: Station = { free: LOCKERS }, { rider, extend }: RentalAsk, facts: Facts): Decided<Station, RentalAnswer> {
      const { now, commandId, rows } = facts
      if (extend === null && free === 0) return { answer: { outcome: 'full' } }
      const before = extend === null ? undefined : rows.get(open, extend)
      if (extend !== null && (before === undefined || now > before.until)) return { answer: { outcome: 'over' } }
      const id = extend ?? commandId
      const until = (before?.until ?? now) + RENTAL_MS
      return {
        answer: { outcome: 'rented', rental: id, until },
        state: before === undefined ? { free: free - 1 } : undefined,
        puts: [row(open, id, { rider, until }), row(ends, id, until)],
        emits: [emission(rentals, id, { rider, until })],
      }
    }

    const deciding = decideCommands(t, {
      flow: rentalFlow,
      store,
      decide,
      view: (state) => state,
      rows: { stores: [open, ends], reads: ({ extend }, _key, rows) => extend !== null && rows.prefetch(open, extend) },
      judgedBy: 'append-time',
      emits: [rentals],
    })
    deciding.stream.tick('end', { everyMs: 1_000, clock: 'caught-up', ...deciding }, (now, ctx) => {
      for (const { key } of ends.due(now - 1_000, ENDED_PER_TICK)) {
        const { free } = store.get('north')!
        deciding.apply('north', { state: { free: free + 1 }, puts: [row(open, key, null), row(ends, key, null)] }, ctx)
      }
    })
  },
  DECIDING,
)

test('a decision changes several rows and emits a record, and a tick ends the rental', () => {
  const { ask: asks, view, driver } = decisionDriver(stations, rentalFlow)
  const until = driver.now + RENTAL_MS
  expect(asks('north', { rider: 'ada', extend: null }, { id: 'a' })).toEqual({ outcome: 'rented', rental: 'a', until })
  asks('north', { rider: 'bob', extend: null })
  expect(asks('north', { rider: 'eve', extend: null })).toEqual({ outcome: 'full' })
  expect(driver.read(rentals)[0]).toMatchObject({ key: 'a', value: { rider: 'ada', until } })
  driver.advanceWallClock(RENTAL_MS + 2_000)
  expect(view('north')).toEqual({ free: LOCKERS })
})

test('an extension that was sent in time counts, although the worker was down when the rental ended', () => {
  const { ask: asks, view, driver } = decisionDriver(stations, rentalFlow)
  const { until } = asks('north', { rider: 'ada', extend: null }, { id: 'a' }) as { until: number }
  driver.restart({ downMs: RENTAL_MS + 500 })
  const late = { id: 'late', appendedAt: until - 1 }
  expect(asks('north', { rider: 'ada', extend: 'a' }, late)).toMatchObject({ outcome: 'rented', until: until + RENTAL_MS })
  driver.advanceWallClock(RENTAL_MS / 2)
  expect(view('north')).toEqual({ free: LOCKERS - 1 })
})

/*
 * ## The other parts
 *
 * A sink writes decisions to Redis: a view sink in which `decisionView` wraps the service's own view. In the API,
 * `api/kit/commands/commands.ts` gives the command an id, binds the caller's Idempotency-Key to one request, and waits
 * for the answer. If no answer arrives in time, the API responds with 503 and the command's id. `api/kit/README.md`
 * describes the three parts that a service needs for commands. `pipelines/links/topology.ts` is an example, with a
 * tick that changes state without a command.
 *
 * Read next: chapter 16, joins. Sources: `pipelines/engine/commands/`, `schemas/commands/topics.ts`,
 * `state/views/results.ts`, `api/kit/commands/waiting.ts`.
 */
