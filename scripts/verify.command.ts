import { command } from './command-line/command.ts'
import { flag, integer, repeated, text } from './command-line/option.ts'

export const ALL_PROJECTS = 'unit,integration,e2e,short-chaos'

export default command({
  call: 'npm test --',
  description:
    'Checks types, lint and dead exports, runs all tests on separate servers, and ends with one line of totals. With paths or projects, it runs only those tests and no checks.',
  positionals: { PATH: repeated(text('Test files or parts of their paths.')) },
  options: {
    projects: text('Kinds of tests, separated by commas: unit, integration, e2e, short-chaos, chaos.', {
      default: ALL_PROJECTS,
      placeholder: 'LIST',
    }),
    'also-without-data': flag('Also runs the tests that read public data as if it were missing, as CI does.'),
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
