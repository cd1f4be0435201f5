import { expect, test } from 'vitest'
import { answerTo } from '../../../scripts/command-line/check.ts'
import declaration from '../../../tools/dlq/main.command.ts'

test.each([
  ['replay trends --all --limit 5', '--limit does not apply to replay'],
  ['show trends --again', '--again does not apply to show'],
  ['list trends --code undecodable_value', '--code does not apply to list'],
  ['list --offset 0', '--offset does not apply to list'],
  ['replay trends', 'select the dead letters to replay with a condition or --all'],
])('dlq %s is refused', (line, message) => {
  expect(answerTo(declaration, line.split(' '))).toEqual({
    text: `millrace: ${message}; see npm run dlq -- --help\n`,
    exitCode: 2,
  })
})

test.each(['list', 'list trends', 'show trends --limit 0 --offset 1 --offset 2', 'replay trends --code x --again', 'replay trends --all'])(
  'dlq %s is accepted',
  (line) => {
    expect(answerTo(declaration, line.split(' '))).toEqual({ text: '', exitCode: undefined })
  },
)
