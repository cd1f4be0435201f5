import { fileURLToPath } from 'node:url'
import { ensureJars } from '../java/jars.ts'

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url))
const PINS = fileURLToPath(new URL('./jars.sha256', import.meta.url))

/**
 * Returns the folder of the broker's jars. Downloads all jars from Maven Central if one is missing or has the wrong
 * size.
 * @param pins path of the file with the hashes of the jars
 */
export async function ensureKafkaJars(toolsDir: string, pins: string = PINS): Promise<string> {
  return ensureJars({ name: 'kafka', what: 'the Kafka broker', pom: POM, pins }, toolsDir)
}
