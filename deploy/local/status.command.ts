import { command } from '../../scripts/command-line/command.ts'

export default command({
  call: 'npm run status --',
  description:
    'Prints each part of the running stack with its health and address, and the lag of every topology and sink. The exit code is 1 when a part is unhealthy, or when the stack is not running or still starting.',
  environment: { MILLRACE_HOME: 'Folder of the stack. Default: .millrace.' },
})
