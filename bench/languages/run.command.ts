import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run bench:languages --',
  description:
    'Detects the languages of the same source files with the snippets service and with highlight.js, and reports how often each is right.',
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets, which must contain the test files of highlight.js. Default: ../shared/data.',
  },
})
