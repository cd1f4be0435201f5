import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { getPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const MODULE = fileURLToPath(new URL('../../runtime/lower-priority.ts', import.meta.url))
const PROGRAM = `
  import { existsSync, readFileSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { lowerPriority } from ${JSON.stringify(MODULE)}
  lowerPriority(Number(process.argv[1]))
  const group = '/proc/self/autogroup'
  console.log(getPriority(), existsSync(group) ? readFileSync(group, 'utf8').replace(/.* nice /, '').trim() : 'none')
`
const NODE = [process.execPath, '--input-type=module', '--eval', PROGRAM]
/** Nice value of the test process. It is not always 0. */
const OWN = getPriority()
const hasGroups = existsSync('/proc/self/autogroup')

function shown(command: readonly string[]): string {
  return execFileSync(command[0], command.slice(1), { encoding: 'utf8' }).trim()
}

test('the leader of a session applies its priority to the whole session', () => {
  expect(shown(['setsid', '--wait', ...NODE, `${OWN + 7}`])).toBe(`${OWN + 7} ${hasGroups ? OWN + 7 : 'none'}`)
})

test('a process that does not lead its session does not change the session', () => {
  expect(shown(['setsid', '--wait', 'sh', '-c', '"$@"; true', 'sh', ...NODE, `${OWN + 7}`])).toBe(`${OWN + 7} ${hasGroups ? 0 : 'none'}`)
})

test('a nice value that is not above the current one changes nothing', () => {
  expect(shown(['setsid', '--wait', 'nice', '-n', '5', ...NODE, `${OWN + 3}`])).toBe(`${OWN + 5} ${hasGroups ? 0 : 'none'}`)
})
