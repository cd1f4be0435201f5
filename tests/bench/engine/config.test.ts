import { expect, test } from 'vitest'
import { benchConfig } from '../../../bench/engine/config.ts'
import { peerContender } from '../../../bench/engine/contender.ts'
import declaration from '../../../bench/engine/run.command.ts'
import type { ValuesOf } from '../../../scripts/command-line/command.ts'

const asked = (...args: string[]) => declaration.parse(args) as ValuesOf<typeof declaration>

test('the peer has one thread per worker of the engine by default', () => {
  expect(benchConfig(asked('--workers', '2'), {})).toMatchObject({ job: 'J2', workers: 2, peerWorkers: 2, guarantee: 'exactly-once' })
  expect(benchConfig(asked('--job', 'J1', '--peer-workers', '2'), {})).toMatchObject({ job: 'J1', workers: 1, peerWorkers: 2 })
})

test.each([
  [['--job', 'J3', '--peer', 'goka', '--guarantee', 'at-least-once'], /goka does not implement job J3/],
  [['--peer', 'goka'], /goka only supports at-least-once/],
  [['--peer', 'kafka-streams'], /set PEERS_DIR/],
])('with %j, the error says what the peer cannot do, or how to set its folder', (args, message) => {
  const config = benchConfig(asked(...args), { PEERS_DIR: '/nowhere' })
  expect(() => peerContender(config.peer!, config)).toThrow(message)
})

test('the number of cards and the padding of states are options of J2, and the padding is limited', () => {
  expect(benchConfig(asked('--cards', '10', '--state-padding', '100', '--memory', '640'), {})).toMatchObject({
    cards: 10,
    statePadding: 100,
    memoryMib: 640,
  })
  expect(() => asked('--job', 'J1', '--cards', '10')).toThrow(/require job J2/)
  expect(() => asked('--state-padding', '40000')).toThrow(/state-padding/)
})
