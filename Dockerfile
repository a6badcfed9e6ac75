# The web service: `manage.py serve`, and `manage.py migrate` as its one-shot neighbour in compose.yaml.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /srv/capture

COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

COPY manage.py ./
COPY capture_sdk ./capture_sdk
COPY capture ./capture
COPY viewer ./viewer
COPY capture_site ./capture_site
COPY templates ./templates
COPY static ./static

# Settings want to be complete; this command touches no store, and nothing of these words stays in the image.
RUN SECRET_KEY=collectstatic DATABASE_URL=postgres://nobody@nowhere/none AGENT_CAPTURE_REDIS_URL=redis://nowhere \
    python manage.py collectstatic --noinput --verbosity 0

RUN useradd --system --no-create-home capture
USER capture

EXPOSE 8000
CMD ["python", "manage.py", "serve", "--bind", "0.0.0.0:8000"]
