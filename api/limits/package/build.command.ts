import { command } from '../../../scripts/command-line/command.ts'

export default command({
  call: 'npm run package:limits --',
  description:
    'Compiles the rate limit middleware for any Hono app, packs it as an npm package, and prints the path of the tarball in api/limits/package/dist.',
})
