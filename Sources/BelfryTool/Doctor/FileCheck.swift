import PipelineKit

/// Checks the pipeline file as `belfry validate` does, but a secret key that cannot be read is an error here. Also warns
/// about stages with `open: true`. If the doctor has its own keys, it does not check the stages' keys.
struct FileCheck: DoctorCheck {
    let name = "file"

    func findings(in target: DoctorTarget) throws -> [Finding] {
        if target.isFolder { return [] }
        do {
            let checked = try CheckedPipeline(path: target.path)
            if target.keys == nil { try checked.checkKeys() }
            let oneRow = CheckedPipeline(path: checked.path, file: checked.file.withoutLanes)
            let names = oneRow.file.stagesInOrder.map(\.name).joined(separator: ", ")
            return try [Finding(.ok, "file.valid", "\(target.path) is valid: stages \(names)")]
                + oneRow.secretWarnings().map { Self.finding(.warning, "file.secret", $0) }
                + [checked.missingGatewayKeys()].compactMap(\.self).map { Self.finding(.warning, "file.no_keys", $0) }
                + oneRow.certificateWarnings(at: .wall()).map { Self.finding(.warning, "file.certificate", $0) }
                + oneRow.file.stagesInOrder.filter(\.isOpen).map(Self.openStage)
        } catch let error as PipelineFileError {
            return error.errors.map { Self.finding(.error, "file.invalid", $0) }
        }
    }

    private static func openStage(_ stage: PipelineStage) -> Finding {
        Finding(
            .warning, "file.open",
            "stage \(stage.name) has `open: true`: any machine that can reach its addresses can connect without a key",
            fix: "give it `curve:` keys, or block access from other machines", ["stage": .text(stage.name)])
    }

    static func finding(_ severity: Finding.Severity, _ code: String, _ error: SettingsError) -> Finding {
        Finding(
            severity, code, error.description,
            [
                "file": .text(error.file), "line": .count(error.line), "column": .count(error.column),
                "key": .text(error.keyPath),
            ])
    }
}
