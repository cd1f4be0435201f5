import { expect, test } from 'vitest'
import { z } from 'zod'
import { settingsFragment } from '../../settings/fragment.ts'
import { readSettings, SettingsError } from '../../settings/read.ts'
import { addressesOf, addressOf, flag, list, namesOf, port, wholeNumber } from '../../settings/variables.ts'

const range = settingsFragment({
  variables: { LEAST: wholeNumber(0, 9).prefault('1'), MOST: wholeNumber(0, 9).prefault('5') },
  rules({ LEAST, MOST }, report, { isProduction }) {
    if (LEAST > MOST) report('LEAST', 'is more than MOST')
    if (isProduction && MOST === 5) report('MOST', 'is missing')
  },
  value: ({ LEAST, MOST }, { home }) => ({ size: MOST - LEAST, home }),
})
const shared = settingsFragment({ variables: { LEAST: wholeNumber(0, 9).prefault('1') }, value: (env) => env.LEAST })

function read(env: Record<string, string>, withRules = true) {
  return readSettings(env, (reader) => {
    const [first, second] = [reader.read(range, { withRules }), reader.read(shared)]
    return () => ({ ...first.value(), least: second.value() })
  })
}

test('given values are read, other variables have their defaults, and an empty variable counts as unset', () => {
  expect(read({ MILLRACE_HOME: '/home/of' })).toEqual({ size: 4, home: '/home/of', least: 1 })
  expect(read({ LEAST: '2', MOST: '', MILLRACE_HOME: '/x' })).toEqual({ size: 3, home: '/x', least: 2 })
})

test('each wrong variable is reported once, even if several fragments read it', () => {
  expect(() => read({ LEAST: 'few', MOST: '10' })).toThrow(new SettingsError(['LEAST: is not a number', 'MOST: is more than 9']))
})

test('a rule is checked only if its variables are valid and the caller asks for rules to be checked', () => {
  expect(() => read({ LEAST: '7' })).toThrow('invalid settings:\n  LEAST: is more than MOST')
  expect(() => read({ LEAST: '7', MOST: 'few' })).toThrow(new SettingsError(['MOST: is not a number']))
  expect(() => read({ NODE_ENV: 'production' })).toThrow('MOST: is missing')
  expect(read({ LEAST: '7', NODE_ENV: 'production' }, false).size).toBe(-2)
})

test.each(['prod', 'Production'])('NODE_ENV=%s is refused, because it would silently mean development', (NODE_ENV) => {
  expect(() => read({ NODE_ENV })).toThrow('NODE_ENV: begins like production')
})

test('the error about a secret that is too short does not show the secret', () => {
  const secret = settingsFragment({ variables: { SECRET: z.string().min(30, 'is too short') }, value: (env) => env.SECRET })
  expect(() => readSettings({ SECRET: 'hunter2' }, (reader) => reader.read(secret).value)).toThrow(
    /^invalid settings:\n {2}SECRET: is too short$/,
  )
})

test.each([
  [flag, '1', true],
  [flag, 'yes', 'is neither 0 nor 1'],
  [list, 'a, b,', ['a', 'b']],
  [list, ' , ', 'is empty'],
  [namesOf(['a', 'b']), 'b', ['b']],
  [namesOf(['a', 'b']), 'a,c', 'names c, but the known names are: a, b'],
  [port(), '0', 0],
  [port(1), '0', 'is not a port'],
  [port(), '65536', 'is not a port'],
  [addressOf('http', 'https'), 'https://user:p%25w@host:1/path', 'https://user:p%25w@host:1/path'],
  [addressOf('http', 'https'), ' http://[::1]:1 ', 'http://[::1]:1'],
  [addressOf('http', 'https'), 'host:8080', 'does not begin with http:// or https://'],
  [addressOf('http', 'https'), 'http://', 'is not a URL'],
  [addressOf('redis'), 'redis://', 'names no host'],
  [addressOf('redis'), 'redis://host:99999', 'is not a URL'],
  [addressOf('http'), 'http://user:100%@host', 'has a % in its user or password: write it as %25'],
  [addressesOf('http'), 'http://a:1, http://b:1', 'http://a:1, http://b:1'],
  [addressesOf('http'), 'http://a:1,b:1', 'does not begin with http://'],
])('case %#: a value is accepted, or refused with a reason', (schema: z.ZodType, text, expected) => {
  const result = schema.safeParse(text)
  expect(result.success ? result.data : result.error.issues[0].message).toEqual(expected)
})
