/**
 * Keeps a chain across restarts of its process: a snapshot from time to time, and the blocks since. After a crash the
 * end of a file may be cut off; every complete entry counts.
 *
 *   block ──▶ chain.journal, as it is ──PACKED_BLOCKS of them──▶ chain.packed, compressed together
 *
 * After a crash a block may be in both files; it counts once.
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { Chain, type ChainSnapshot } from './chain.ts'
import type { ChainOptions } from './chain-options.ts'
import { compress, decompress } from './consensus/block-record.ts'
import type { Block } from './consensus/model.ts'

const FORMAT = 3
/**
 * Compressing takes longer than everything else that is done with a block, and blocks compressed together take less
 * space.
 */
const PACKED_BLOCKS = 64
/** Half of a snapshot are hashes in text. Higher levels take several times as long and save nothing more. */
const SNAPSHOT_LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** First byte of what `serialize` returns: a snapshot that was written before snapshots were compressed. */
const UNCOMPRESSED = 0xff

interface Saved {
  format: number
  seed: number
  network: string
  startDaaScore: bigint
  startTimeMs: number
  snapshot: ChainSnapshot
}

function load(file: string, options: ChainOptions): Saved | undefined {
  if (!existsSync(file)) return undefined
  let saved: Saved
  try {
    const bytes = readFileSync(file)
    saved = deserialize(bytes[0] === UNCOMPRESSED ? bytes : zstdDecompressSync(bytes)) as Saved
  } catch {
    return undefined
  }
  return saved.format === FORMAT && saved.seed === options.seed && saved.network === options.network
    ? saved
    : undefined
}

function append(file: number, body: Buffer): void {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  writeSync(file, Buffer.concat([head, body]))
}

function* appended(file: string): Generator<Buffer> {
  if (!existsSync(file)) return
  const bytes = readFileSync(file)
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at)
    if (at + 4 + length > bytes.length) return
    yield bytes.subarray(at + 4, at + 4 + length)
    at += 4 + length
  }
}

export function openStateFolder(folder: string, options: ChainOptions) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const snapshotFile = join(folder, 'chain.snapshot')
  const journalFile = join(folder, 'chain.journal')
  const packedFile = join(folder, 'chain.packed')
  const saved = load(snapshotFile, options)
  const { startDaaScore, startTimeMs } = saved ?? options
  const chain = new Chain({ ...options, startDaaScore, startTimeMs }, saved?.snapshot)
  if (saved !== undefined) {
    for (const body of appended(packedFile))
      for (const block of decompress(body) as Block[]) chain.submitBlock(block)
    for (const body of appended(journalFile)) chain.submitBlock(deserialize(body) as Block)
  }
  const journal = openSync(journalFile, 'a')
  const packed = openSync(packedFile, 'a')
  let unpacked: Block[] = []

  const save = () => {
    const { seed, network } = options
    const content: Saved = {
      format: FORMAT,
      seed,
      network,
      startDaaScore,
      startTimeMs,
      snapshot: chain.snapshot(),
    }
    writeFileSync(`${snapshotFile}.new`, zstdCompressSync(serialize(content), SNAPSHOT_LEVEL))
    renameSync(`${snapshotFile}.new`, snapshotFile)
    truncateSync(journalFile, 0)
    truncateSync(packedFile, 0)
    unpacked = []
  }
  save()
  const stop = chain.on((event) => {
    if (event.kind !== 'block') return
    append(journal, serialize(event.block))
    unpacked.push(event.block)
    if (unpacked.length < PACKED_BLOCKS) return
    append(packed, compress(unpacked))
    truncateSync(journalFile, 0)
    unpacked = []
  })
  return {
    chain,
    resumed: saved !== undefined,
    save,
    close() {
      stop()
      save()
      closeSync(journal)
      closeSync(packed)
    },
  }
}
