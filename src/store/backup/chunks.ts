/** Pieces of files, each stored once under the hash of its bytes. */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { CHUNK_BYTES } from './manifest.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)
/** A fast level: a backup waits for the disk, not for compression. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
/** Incompressible data becomes slightly longer when packed. */
const MAX_PACKED_BYTES = 2 * CHUNK_BYTES
const CHUNK_FILE = /^[0-9a-f]{64}\.zst$/
const FOLDER = /^[0-9a-f]{2}$/

/** A stored chunk is missing, or its bytes do not match its name. */
export class DamagedChunkError extends Error {
  override readonly name = 'DamagedChunkError'
  readonly hash: string
  constructor(hash: string, what: string) {
    super(`chunk ${hash} ${what}`)
    this.hash = hash
  }
}

export function openChunks(folder: string) {
  const pathOf = (hash: string) => join(folder, hash.slice(0, 2), `${hash}.zst`)
  /** Folders whose new entries may not be on disk yet. */
  const changed = new Set<string>()
  const made = new Set<string>()
  return {
    /** `addedBytes` is 0 if the chunk was already stored. */
    async put(bytes: Uint8Array): Promise<{ hash: string; addedBytes: number }> {
      const hash = createHash('sha256').update(bytes).digest('hex')
      const path = pathOf(hash)
      const parent = join(folder, hash.slice(0, 2))
      if ((await sizeOf(path)) > 0) {
        // A backup that was killed may have stored it without flushing the folder.
        changed.add(parent)
        return { hash, addedBytes: 0 }
      }
      const packed = await compress(bytes, LEVEL)
      if (!made.has(parent)) {
        await mkdir(parent, { recursive: true, mode: 0o700 })
        made.add(parent)
      }
      // Written under a temporary name, so that a killed write does not leave a chunk that looks complete.
      await writeFile(`${path}.new`, packed, { mode: 0o600, flush: true })
      await rename(`${path}.new`, path)
      changed.add(parent)
      return { hash, addedBytes: packed.byteLength }
    },
    /** Throws DamagedChunkError if the chunk is missing or its bytes do not match the hash. */
    async read(hash: string): Promise<Buffer> {
      if ((await sizeOf(pathOf(hash))) > MAX_PACKED_BYTES) throw new DamagedChunkError(hash, 'is damaged')
      const packed = await readFile(pathOf(hash)).catch((error: { code?: string }) => {
        if (error.code === 'ENOENT') throw new DamagedChunkError(hash, 'is missing')
        throw error
      })
      const bytes = await decompress(packed, { maxOutputLength: CHUNK_BYTES }).catch(() => undefined)
      if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== hash)
        throw new DamagedChunkError(hash, 'is damaged')
      return bytes
    },
    /** After this, all stored chunks survive a crash of the machine. */
    async flush(): Promise<void> {
      for (const path of [...changed, folder]) await syncFolder(path)
      changed.clear()
    },
    remove: (hash: string) => rm(pathOf(hash), { force: true }),
    /** Removes chunks that no backup uses and returns the bytes freed. */
    async sweep(used: ReadonlySet<string>): Promise<number> {
      let freed = 0
      for (const name of await readdir(folder)) {
        if (!FOLDER.test(name)) continue
        for (const file of await readdir(join(folder, name))) {
          if (CHUNK_FILE.test(file) && used.has(file.slice(0, 64))) continue
          const path = join(folder, name, file)
          freed += await sizeOf(path)
          await rm(path, { force: true })
        }
      }
      return freed
    },
  }
}

export type Chunks = ReturnType<typeof openChunks>

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
