import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate and its private key, both in PEM format. */
export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

export interface TestAuthority extends TestCertificate {
  issue(options: CertificateOptions): TestCertificate
  /** Creates an intermediate authority, whose certificate this authority signs. */
  intermediate(name: string): TestAuthority
  /** Creates a new certificate for the same key, as an authority does before its current certificate expires. */
  renewed(): TestAuthority
}

export interface CertificateOptions {
  readonly commonName?: string
  /** Subject alternative names of type dNSName. */
  readonly dns?: readonly string[]
  readonly uri?: readonly string[]
  /**
   * Common names, each encoded as an alternative name of type directoryName. These names precede the other alternative
   * names.
   */
  readonly directory?: readonly string[]
  readonly usage: 'client' | 'server'
  /** Epoch ms. Default: valid from an hour ago until an hour from now. */
  readonly notBefore?: number
  readonly notAfter?: number
}

interface Signer {
  readonly name: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const HOUR_MS = 3_600_000
const OID = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  basicConstraints: '2.5.29.19',
  extendedKeyUsage: '2.5.29.37',
  alternativeNames: '2.5.29.17',
  client: '1.3.6.1.5.5.7.3.2',
  server: '1.3.6.1.5.5.7.3.1',
}

type Validity = Pick<CertificateOptions, 'notBefore' | 'notAfter'>

/** Creates an authority with a new key. */
export function testAuthority(name: string, validity: Validity = {}): TestAuthority {
  const signer = newSigner(name)
  return authority(signer, signer, validity)
}

function authority(own: Signer, issuer: Signer, validity: Validity = {}): TestAuthority {
  const cert = signed(own, issuer, { ...validity, usage: 'client', commonName: own.name, isAuthority: true })
  return {
    cert,
    key: pemKey(own),
    issue(options) {
      const subject = newSigner(options.commonName ?? '')
      return { cert: signed(subject, own, options), key: pemKey(subject) }
    },
    intermediate: (name) => authority(newSigner(name), own),
    renewed: () => authority(own, issuer),
  }
}

function newSigner(name: string): Signer {
  return { name, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
}

function pemKey({ privateKey }: Signer): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Encodes an X.509 certificate (RFC 5280) and signs it. */
function signed(subject: Signer, issuer: Signer, options: CertificateOptions & { isAuthority?: boolean }): string {
  const { notBefore = Date.now() - HOUR_MS, notAfter = Date.now() + HOUR_MS } = options
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const content = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(0x40), randomBytes(15)])),
    algorithm,
    nameOf(issuer.name),
    sequence(time(notBefore), time(notAfter)),
    nameOf(options.commonName),
    subject.publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions(options))),
  )
  const signature = sign('sha256', content, issuer.privateKey)
  const der = sequence(content, algorithm, tagged(0x03, Buffer.concat([Buffer.of(0), signature])))
  const lines = der.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function extensions({
  isAuthority = false,
  usage,
  dns = [],
  uri = [],
  directory = [],
}: CertificateOptions & { isAuthority?: boolean }): Buffer[] {
  if (isAuthority) return [extension(OID.basicConstraints, sequence(tagged(0x01, Buffer.of(0xff))))]
  const names = [
    ...directory.map((name) => tagged(0xa4, nameOf(name))),
    ...dns.map((name) => tagged(0x82, Buffer.from(name))),
    ...uri.map((name) => tagged(0x86, Buffer.from(name))),
  ]
  return [
    extension(OID.extendedKeyUsage, sequence(oid(OID[usage]))),
    ...(names.length === 0 ? [] : [extension(OID.alternativeNames, sequence(...names))]),
  ]
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), tagged(0x04, value))
}

function nameOf(commonName: string | undefined): Buffer {
  if (commonName === undefined || commonName === '') return sequence()
  return sequence(tagged(0x31, sequence(oid(OID.commonName), tagged(0x0c, Buffer.from(commonName)))))
}

function time(epochMs: number): Buffer {
  return tagged(0x18, Buffer.from(`${new Date(epochMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '')}`))
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function oid(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number)
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80)
  return bytes
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

/** Encodes one value in DER: tag, length, content. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
