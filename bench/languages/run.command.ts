import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run bench:languages --',
  description: "Measures how often the language of a text is found: this service's detection and highlight.js' on the same files.",
  environment: { MILLRACE_DATA: "Folder of the public data sets; highlight.js' test files are needed. Default: ../shared/data." },
})
