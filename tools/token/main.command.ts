import { command } from '../../scripts/command-line/command.ts'
import { number, required, text } from '../../scripts/command-line/option.ts'

/** Minimum lifetime: 3.6 seconds. A lifetime below one second could be rounded to zero seconds. */
const LEAST_HOURS = 0.001

export default command({
  call: 'npm run token --',
  description:
    'Prints a token that the local API accepts. Use it as: curl -H "Authorization: Bearer $(npm run --silent token -- --sub 42)" http://localhost:8080/...',
  options: {
    sub: required(text('User id of the token.', { placeholder: 'ID' })),
    scope: text('Scopes, separated by spaces.', { placeholder: '"admin internal"' }),
    name: text('User name.', { placeholder: 'NAME' }),
    hours: number('Lifetime in hours.', { default: 12, min: LEAST_HOURS }),
  },
  environment: { MILLRACE_HOME: 'Folder of the signing key. Default: .millrace.' },
  examples: [['--sub 42 --scope admin', 'Prints a token for an administrator.']],
})
