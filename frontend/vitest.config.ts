import { defineConfig, mergeConfig } from 'vitest/config'
import viteConfig from './vite.config'

export default mergeConfig(
  viteConfig,
  defineConfig({
    test: {
      environment: 'jsdom',
      setupFiles: ['src/test/setup.ts'],
      include: ['src/**/*.test.{ts,tsx}'],
      restoreMocks: true,
      // The files of a worker share the modules: half of the time went into loading them anew for each file. What a
      // module does once, when it is loaded, is done once for all files: tests do it in functions or hooks.
      isolate: false,
      // Vitest would leave a core free.
      maxWorkers: '100%',
      // Only a test that hangs takes as long.
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
