import { command } from './command-line/command.ts'
import { choices, flag, integer, repeated, text } from './command-line/option.ts'

export default command({
  call: 'npm test --',
  description:
    'Checks types, lint and dead exports, runs the tests on servers of their own, and ends with one line of totals. With paths or projects, it runs only those tests and no checks.',
  positionals: { PATH: repeated(text('Test files or parts of their paths.')) },
  options: {
    projects: choices('Kinds of tests, separated by commas. Default: all except chaos.', [
      'unit',
      'integration',
      'e2e',
      'short-chaos',
      'browser',
      'chaos',
    ]),
    'also-without-data': flag('Runs the tests that read public data a second time without this data, as CI does.'),
    slowest: integer('Number of slowest tests to list. Default: 20 after a full run, otherwise none.'),
  },
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets. Default: ../shared/data.',
    MILLRACE_HOME: 'Folder of the downloaded tools. Default: .millrace.',
  },
  examples: [
    ['tests/state', 'The tests of one folder.'],
    ['--projects unit', 'All unit tests.'],
  ],
})
