import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run bench:languages --',
  description: 'Measures how often this service and highlight.js detect the language of a text correctly, on the same files.',
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets, which must contain the test files of highlight.js. Default: ../shared/data.',
  },
})
