import { command } from './command-line/command.ts'

export default command({
  call: 'node scripts/places.ts',
  description:
    'Builds schemas/trends/places/regions.json, the 551 regions of the trends service, from the public list of trend locations and from GeoNames.',
  environment: { MILLRACE_DATA: 'Folder of the public data sets. Default: ../shared/data.' },
})
