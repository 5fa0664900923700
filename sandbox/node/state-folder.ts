/**
 * A chain that survives its process: a snapshot now and then, and a journal of the blocks since. After a crash
 * the journal's tail may be cut; whatever is whole counts.
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
import { Chain, type ChainSnapshot } from './chain.ts'
import type { ChainOptions } from './chain-options.ts'
import { compress, decompress } from './consensus/block-record.ts'
import type { Block } from './consensus/model.ts'

const FORMAT = 2
/** A block is a few kilobytes: a small window finds as much in it, and is set up ten times a second. */
const JOURNAL = { windowBits: 13, memLevel: 5 }

interface Saved {
  format: number
  seed: number
  network: string
  startDaaScore: bigint
  startTimeMs: number
  snapshot: ChainSnapshot
}

interface StateFolder {
  chain: Chain
  resumed: boolean
  save(): void
  close(): void
}

function load(file: string, options: ChainOptions): Saved | undefined {
  if (!existsSync(file)) return undefined
  let saved: Saved
  try {
    saved = deserialize(readFileSync(file)) as Saved
  } catch {
    return undefined
  }
  return saved.format === FORMAT && saved.seed === options.seed && saved.network === options.network
    ? saved
    : undefined
}

function* journaled(file: string): Generator<Block> {
  if (!existsSync(file)) return
  const bytes = readFileSync(file)
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at)
    if (at + 4 + length > bytes.length) return
    yield decompress(bytes.subarray(at + 4, at + 4 + length)) as Block
    at += 4 + length
  }
}

export function openStateFolder(folder: string, options: ChainOptions): StateFolder {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const snapshotFile = join(folder, 'chain.snapshot')
  const journalFile = join(folder, 'chain.journal')
  const saved = load(snapshotFile, options)
  const { startDaaScore, startTimeMs } = saved ?? options
  const chain = new Chain({ ...options, startDaaScore, startTimeMs }, saved?.snapshot)
  if (saved !== undefined) for (const block of journaled(journalFile)) chain.submitBlock(block)
  const journal = openSync(journalFile, 'a')

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
    writeFileSync(`${snapshotFile}.new`, serialize(content))
    renameSync(`${snapshotFile}.new`, snapshotFile)
    truncateSync(journalFile, 0)
  }
  save()
  const stop = chain.on((event) => {
    if (event.kind !== 'block') return
    const body = compress(event.block, JOURNAL)
    const head = Buffer.alloc(4)
    head.writeUInt32LE(body.length)
    writeSync(journal, Buffer.concat([head, body]))
  })
  return {
    chain,
    resumed: saved !== undefined,
    save,
    close() {
      stop()
      save()
      closeSync(journal)
    },
  }
}
