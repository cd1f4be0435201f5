import { expect, test } from 'vitest'
import { command } from '../../../scripts/command-line/command.ts'
import { nearestName } from '../../../scripts/command-line/nearest.mjs'
import {
  choice,
  choices,
  duration,
  flag,
  integer,
  integers,
  number,
  repeated,
  required,
  text,
  UsageError,
} from '../../../scripts/command-line/option.ts'

const play = command({
  call: 'npm run play --',
  description: 'Plays something.',
  positionals: { FILE: required(text('What is played.')), MORE: repeated(text('Played after it.')) },
  options: {
    rate: number('Events per second.', { default: 40, min: 0.5 }),
    runs: integer('How often.', { min: 1, max: 9 }),
    for: duration('How long.', { default: '10m' }),
    mode: choice('How.', ['slow', 'fast'], { default: 'slow' }),
    only: choices('Which parts.', ['first', 'last'], { default: 'all' }),
    faults: choices('Which faults.', ['cut', 'kill']),
    workers: integers('Numbers of workers.', { default: '1,2' }),
    offset: repeated(integer('Which ones.')),
    loud: flag('Makes noise.'),
    note: text('A remark.'),
  },
  environment: { PLAYER: 'Who plays.' },
  examples: [['a.csv --runs 2', 'Plays twice.']],
  check: ({ mode, loud }) => (mode === 'fast' && loud ? 'fast is never loud: leave out --loud' : undefined),
})

test('omitted options have their defaults', () => {
  expect(play.parse(['a.csv'])).toEqual({
    FILE: 'a.csv',
    MORE: [],
    rate: 40,
    runs: undefined,
    for: 600_000,
    mode: 'slow',
    only: ['first', 'last'],
    faults: undefined,
    workers: [1, 2],
    offset: [],
    loud: false,
    note: undefined,
  })
})

test('a value follows a space or an equals sign, and the last value counts if a single-valued option is repeated', () => {
  const args = [
    '--rate=2.5',
    'a',
    '--runs',
    '3',
    '--runs',
    '4',
    '--for',
    '1.5h',
    '--mode',
    'fast',
    '--only',
    'last',
    '--faults',
    'kill,cut',
  ]
  expect(play.parse([...args, '--workers', '4', '--offset', '1', '--offset', '2', '--note=--x', 'b', 'c'])).toMatchObject({
    FILE: 'a',
    MORE: ['b', 'c'],
    rate: 2.5,
    runs: 4,
    for: 5_400_000,
    mode: 'fast',
    only: ['last'],
    faults: ['kill', 'cut'],
    workers: [4],
    offset: [1, 2],
    note: '--x',
  })
})

test('--help takes precedence over an invalid option', () => {
  expect(play.parse(['--nonsense', '--help'])).toBe('help')
  expect(play.parse(['-h'])).toBe('help')
})

test.each([
  [[], 'FILE is missing: What is played; see'],
  [['a', '--raet', '1'], 'unknown option --raet, did you mean --rate? See'],
  [['a', '--zzzzzz'], 'unknown option --zzzzzz; see'],
  [['a', '-x'], 'unknown option -x'],
  [['a', '--rate'], '--rate needs a value: --rate N; see'],
  [['a', '--rate', '--loud'], '--rate needs a value: --rate N; see'],
  [['a', '--rate', '0'], '--rate must be a number of at least 0.5, not "0"; see'],
  [['a', '--rate', '-1'], '--rate must be a number of at least 0.5, not "-1"; see'],
  [['a', '--rate', 'Infinity'], '--rate must be a number'],
  [['a', '--rate='], '--rate must be a number of at least 0.5; see'],
  [['a', '--runs', '1.5'], '--runs must be an integer from 1 to 9, not "1.5"; see'],
  [['a', '--runs', '10'], '--runs must be an integer from 1 to 9, not "10"; see'],
  [['a', '--for', '10'], '--for must be a number with a unit, such as 90s, 10m or 1h, not "10"; see'],
  [['a', '--mode', 'medium'], '--mode must be one of slow, fast, not "medium"; see'],
  [['a', '--only', 'first,middle'], '--only must be one or more of first, last (separated by commas), not "first,middle"; see'],
  [['a', '--workers', '1,x'], '--workers must be an integer of at least 0, not "1,x"; see'],
  [['a', '--loud=yes'], '--loud takes no value; see'],
  [['a', '--note='], '--note must not be empty; see'],
  [['a', '--workers='], '--workers must be an integer of at least 0; see'],
  [['a', '--mode', 'fast', '--loud'], 'fast is never loud: leave out --loud; see'],
])('%j is refused with a one-line message that gives the reason and refers to --help', (args, message) => {
  let caught: unknown
  try {
    play.parse(args)
  } catch (error) {
    caught = error
  }
  expect(caught).toBeInstanceOf(UsageError)
  expect((caught as Error).message).toContain(message)
  expect((caught as Error).message).toMatch(/[sS]ee npm run play -- --help$/)
  expect((caught as Error).message).not.toContain('\n')
})

test('a command that declares no positional arguments refuses them', () => {
  const bare = command({ call: 'npm run bare --', description: 'Does one thing.' })
  expect(bare.parse([])).toEqual({})
  expect(() => bare.parse(['x'])).toThrow('unexpected argument "x"; see npm run bare -- --help')
})

test('the help lists arguments, options, environment variables and examples in lines of at most 100 characters', () => {
  expect(play.help).toMatch(
    /^npm run play -- FILE \[MORE\] \[options\]\n\nPlays something\.\n\nArguments:\n {2}FILE {2}What is played\. Required\./,
  )
  expect(play.help).toMatch(/^ {2}--rate N +Events per second\. Default: 40\.$/m)
  expect(play.help).toMatch(/^ {2}--only LIST +Which parts\. Choose from first, last\. Default: all\.$/m)
  expect(play.help).toMatch(/^ {2}--loud +Makes noise\.$/m)
  expect(play.help).toMatch(/^ {2}PLAYER {2}Who plays\.$/m)
  expect(play.help).toMatch(/^ {2}npm run play -- a\.csv --runs 2\n +Plays twice\.$/m)
  for (const line of play.help.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
})

test.each([
  ['strat', 'start'],
  ['tets', 'test'],
  ['bench:link', 'bench:links'],
  ['bench', 'bench:links'],
  ['xyzzy', undefined],
])('the name nearest to %s is %s', (given, nearest) => {
  expect(nearestName(given, ['start', 'status', 'test', 'bench:links'])).toBe(nearest)
})

test.each(['--constructor', '--toString=1', '--__proto__'])('%s, named after an object property, is refused as unknown', (option) => {
  expect(() => play.parse(['a.csv', option])).toThrow(`unknown option ${option.split('=')[0]}`)
})
