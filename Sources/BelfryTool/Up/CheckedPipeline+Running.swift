import PipelineKit

extension CheckedPipeline {
    /// Checks that the running stages can continue with this file.
    ///
    /// Does not compare the settings of the gateway: the gateway itself refuses a file whose changes it cannot use.
    ///
    /// - Throws: ``PipelineFileError`` with all differences that need a restart.
    func checkReload(from running: PipelineFile) throws(PipelineFileError) {
        var errors: [SettingsError] = []
        if file.data != running.data { errors.append(restart("data", "the running pipeline uses \(running.data)")) }
        if file.dataMode != running.dataMode {
            errors.append(restart("data.mode", "the running pipeline uses another mode"))
        }
        errors += differences(from: running.log.home).map {
            restart("log.\($0)", "the running pipeline has another value")
        }
        errors += PipelineFile.differences(of: file.hosts, from: running.hosts).map {
            restart("hosts.\($0)", "the running pipeline has another value")
        }
        if (file.api == nil) != (running.api == nil) {
            errors.append(restart("api", "the running pipeline has \(running.api == nil ? "no" : "a") gateway"))
        }
        guard file.lanes == running.lanes else {
            errors.append(restart("lanes", "the running pipeline has \(running.lanes)"))
            throw PipelineFileError(errors)
        }
        for stage in file.stages {
            guard let old = running.stage(named: stage.name) else {
                errors.append(restart("stages.\(stage.name)", "the stage is new"))
                continue
            }
            errors += stage.differences(from: old).map { stage.settings.fail($0, $1, hint: CheckedPipeline.hint) }
        }
        for old in running.stages where file.stage(named: old.name) == nil {
            errors.append(restart("stages.\(old.name)", "the stage is running, but no longer in the file"))
        }
        guard errors.isEmpty else { throw PipelineFileError(errors) }
    }

    /// The keys below `log` whose change moves the logs or changes the connections to their home.
    private func differences(from running: HomeSettings?) -> [String] {
        guard let running, let home = file.log.home else {
            return (running == nil) == (file.log.home == nil) ? [] : ["home"]
        }
        return home.differences(from: running)
    }

    private static let hint = "restart belfry up to change this"

    private func restart(_ key: String, _ reason: String) -> SettingsError {
        file.settings.fail(atPath: key, reason, hint: CheckedPipeline.hint)
    }
}

extension PipelineStage {
    /// The keys that differ from the running stage and cannot change in a running process, with the values in use.
    fileprivate func differences(from old: PipelineStage) -> [(key: String, reason: String)] {
        var differences: [(String, String)] = []
        if kind != old.kind { differences.append(("stage", "the running stage is of kind \(old.kind)")) }
        if from != old.from { differences.append(("from", "the running stage reads from \(old.from ?? "no stage")")) }
        if logName != old.logName { differences.append(("log", "the running stage writes \(old.logName)")) }
        if command.isEmpty != old.command.isEmpty {
            differences.append(("command", "the running stage has \(old.command.isEmpty ? "no" : "a") command"))
        }
        return differences
    }
}
