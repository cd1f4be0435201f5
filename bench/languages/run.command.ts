import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run bench:languages --',
  description: 'Measures how often the language of a text is detected correctly, by this service and by highlight.js on the same files.',
  environment: {
    MILLRACE_DATA: 'Folder of the public data sets, which must contain the test files of highlight.js. Default: ../shared/data.',
  },
})
