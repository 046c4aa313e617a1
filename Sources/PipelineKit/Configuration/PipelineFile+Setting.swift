extension PipelineFile {
    /// The same pipeline with one setting of a stage as if it were written in the file.
    ///
    /// - Parameters:
    ///   - keys: Where it stands in the stage, as `window`, or `transports`, `apns`, `url`.
    ///   - text: What would be written there: a plain YAML scalar.
    package func setting(_ keys: [String], ofStage name: String, to text: String) -> PipelineFile {
        let changed = stages.map { $0.name == name ? $0.setting(keys, to: text) : $0 }
        guard let source = changed.first(where: { $0.from == nil }) else {
            preconditionFailure("a pipeline has a source")
        }
        return PipelineFile(
            name: self.name, data: data, dataMode: dataMode, seed: seed, log: log, stages: changed, sourceStage: source)
    }
}

extension PipelineStage {
    fileprivate func setting(_ keys: [String], to text: String) -> PipelineStage {
        with(settings.setting(keys, to: text))
    }

    func with(_ settings: SettingsReader) -> PipelineStage {
        var stage = self
        stage.settings = settings
        return stage
    }
}

extension SettingsReader {
    func setting(_ keys: [String], to text: String) -> SettingsReader {
        with(SettingsReader.setting(keys[...], to: text, in: nodes, place))
    }

    func with(_ entries: [SettingsNode.Entry]) -> SettingsReader {
        var reader = SettingsReader(entries: entries, file: file, folder: folder, keyPath: keyPath, place: place)
        for key in knownKeys { reader.know(key) }
        return reader
    }

    private static func setting(
        _ keys: ArraySlice<String>, to text: String, in entries: [SettingsNode.Entry], _ place: Place
    ) -> [SettingsNode.Entry] {
        guard let key = keys.first else { return entries }
        var entries = entries
        let index = entries.firstIndex { $0.key == key }
        var content = SettingsNode.Content.scalar(text, plain: true)
        if keys.count > 1 {
            var inner: [SettingsNode.Entry] = []
            if let index, case .mapping(let nested) = entries[index].value.content { inner = nested }
            content = .mapping(setting(keys.dropFirst(), to: text, in: inner, place))
        }
        let entry = SettingsNode.Entry(key: key, place: place, value: SettingsNode(content: content, place: place))
        if let index { entries[index] = entry } else { entries.append(entry) }
        return entries
    }
}
