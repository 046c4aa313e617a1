import PipelineRuntime

/// How this program was built.
package enum BuildKind {
    package static var isDebug: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    package static var word: String { isDebug ? "debug" : "release" }

    package static func warnIfDebug() {
        guard isDebug else { return }
        StandardError.write("warning: this is a debug build, so its numbers mean nothing; use swift build -c release")
    }
}
