import { useMemo } from 'react'
import { ChangedFile } from './changed-file'
import { parsePatch } from './patch'

/** The files of a patch. The user can open each of them. */
export function PatchFiles({ patch }: { patch: string }) {
  const files = useMemo(() => parsePatch(patch), [patch])
  return (
    <ul className="flex flex-col gap-2">
      {files.map((file) => (
        <ChangedFile key={file.path} file={file} view="unified" isInitiallyOpen={files.length === 1} />
      ))}
    </ul>
  )
}
