import PipelineKit

extension CheckedPipeline {
    /// Checks that stages which run from another file could go on with this one.
    ///
    /// - Throws: ``PipelineFileError`` with all that takes a restart.
    func checkGoesOn(from running: PipelineFile) throws(PipelineFileError) {
        var errors: [SettingsError] = []
        if file.data != running.data { errors.append(restart("data", "\(running.data) is in use")) }
        if file.dataMode != running.dataMode { errors.append(restart("data.mode", "another one is in use")) }
        for stage in file.stages {
            guard let old = running.stage(named: stage.name) else {
                errors.append(restart("stages.\(stage.name)", "it does not run so far"))
                continue
            }
            errors += stage.differences(from: old).map { stage.settings.fail($0, $1, hint: CheckedPipeline.hint) }
        }
        for old in running.stages where file.stage(named: old.name) == nil {
            errors.append(restart("stages.\(old.name)", "it runs, and is not in the file any more"))
        }
        guard errors.isEmpty else { throw PipelineFileError(errors) }
    }

    private static let hint = "to change that takes a restart of belfry up"

    private func restart(_ key: String, _ reason: String) -> SettingsError {
        SettingsError(file: path, keyPath: key, reason: reason, hint: CheckedPipeline.hint)
    }
}

extension PipelineStage {
    /// The keys by which the stage's process would be another, and what counts now.
    fileprivate func differences(from old: PipelineStage) -> [(key: String, reason: String)] {
        var differences: [(String, String)] = []
        if kind != old.kind { differences.append(("stage", "it runs as \(old.kind)")) }
        if from != old.from { differences.append(("from", "it reads from \(old.from ?? "no stage")")) }
        if logName != old.logName { differences.append(("log", "it writes \(old.logName)")) }
        if command.isEmpty != old.command.isEmpty {
            differences.append(("command", "the stage runs \(old.command.isEmpty ? "without" : "with") one"))
        }
        return differences
    }
}
