/// Finds secrets of stages, of the gateway and of the logs' home whose files this process cannot use, and files for TLS
/// of the home that it cannot read. Environment variables and credentials are not checked: only the process that uses
/// them has them.
extension PipelineFile {
    /// The errors that the stages and the gateway would report about these files if this user started them on this
    /// machine, sorted by their places in the pipeline file.
    package func secretFileErrors() -> [SettingsError] {
        let errors = stagesInOrder.flatMap { $0.settings.secretFileErrors(isProgram: !$0.command.isEmpty) }
        let others = [api, log.home?.place].compactMap(\.self).flatMap { $0.secretFileErrors(isProgram: false) }
        return (errors + others + (log.home?.tlsFileErrors() ?? [])).sorted {
            ($0.line, $0.column) < ($1.line, $1.column)
        }
    }
}

extension SettingsReader {
    /// - Parameter isProgram: Whether the stage is a program. Then only the setting `curve` is checked, which has the
    ///   CURVE keys of the stage's links. All other settings belong to the program.
    fileprivate func secretFileErrors(isProgram: Bool) -> [SettingsError] {
        nodes.filter { !isProgram || $0.key == "curve" }.flatMap { secretFileErrors(in: $0.value, path(to: $0.key)) }
    }

    private func secretFileErrors(in node: SettingsNode, _ path: String) -> [SettingsError] {
        switch node.content {
        case .mapping(let entries):
            if entries.count == 1, entries[0].key == Secret.Source.fileKey { return secretFileError(node, path) }
            return entries.flatMap { secretFileErrors(in: $0.value, "\(path).\($0.key)") }
        case .list(let items): return items.flatMap { secretFileErrors(in: $0, path) }
        default: return []
        }
    }

    private func secretFileError(_ node: SettingsNode, _ path: String) -> [SettingsError] {
        let errorHere = SettingsError(file: file, at: node.place, keyPath: path, reason: "")
        do throws(SettingsError) {
            _ = try Secret(node, folder: folder, error: errorHere).reveal()
            return []
        } catch {
            return [error]
        }
    }
}
