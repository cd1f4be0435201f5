import { diskFiles } from '../../../../../api/kit/spool/files.ts'
import { Spool } from '../../../../../api/kit/spool/spool.ts'
import { systemRuntime } from '../../../../../runtime/system.ts'

/**
 * A process that opens a spool and prints the number of records that it has adopted. If a name is given, it then spools
 * records endlessly, and prints the number of each record once the spool has stored it.
 */
const [folder, name] = process.argv.slice(2)
const spool = await Spool.open({ folder, maxBytes: 100_000_000, files: diskFiles, runtime: systemRuntime() })
process.stdout.write(`adopted ${spool.state.records}\n`)
for (let index = 0; name !== undefined; index++) {
  const record = {
    topic: { name: 'plain', schema: '' },
    timestamp: Date.now(),
    key: Buffer.from(`${name}-${index % 5}`),
    value: Buffer.from(`${index}`),
  }
  const { stored } = spool.append(record, { isDurable: index % 3 !== 0, isPublished: false })
  void stored.then(() => process.stdout.write(`${index}\n`))
  if (index % 10 === 0) await stored
}
