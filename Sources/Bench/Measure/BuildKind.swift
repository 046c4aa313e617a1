import PipelineRuntime

/// How this program was built.
enum BuildKind {
    static var isDebug: Bool {
        #if DEBUG
            true
        #else
            false
        #endif
    }

    static var word: String { isDebug ? "debug" : "release" }

    static func warn() {
        guard isDebug else { return }
        StandardError.write("warning: this is a debug build; its numbers say nothing (swift build -c release)")
    }
}
