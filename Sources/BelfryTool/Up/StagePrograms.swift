import Glibc
import PipelineKit
import PipelineRuntime

/// How `belfry up` starts each stage: the program made for its kind where it lies beside this one, else this one.
struct StagePrograms {
    /// The folder that this program was started from, and its own path.
    let folder: String
    let belfry: String

    init(belfry: String = StagePrograms.ownPath) {
        self.belfry = belfry
        folder = belfry.lastIndex(of: "/").map { String(belfry[..<$0]) } ?? "."
    }

    func program(for stage: PipelineStage, pipeline: String) -> Supervisor.Program {
        let own = "\(folder)/belfry-\(stage.kind)"
        let isOwn = stage.command.isEmpty && stage.kind != "belfry" && access(own, X_OK) == 0
        let command =
            isOwn
            ? [own, "--pipeline", pipeline, "--stage", stage.name]
            : [belfry, "stage", stage.name, "--pipeline", pipeline]
        return Supervisor.Program(stage: stage.name, command: command)
    }

    static var ownPath: String {
        guard let path = realpath("/proc/self/exe", nil) else { return CommandLine.arguments[0] }
        defer { free(path) }
        return String(cString: path)
    }
}
